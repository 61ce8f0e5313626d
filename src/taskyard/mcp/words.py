"""What agents read about the tools: when to use each, what comes back, and what its errors mean."""

from typing import Final


def _flowing(text: str) -> str:
    """One paragraph, however it is broken into lines here."""
    return " ".join(text.split())


INSTRUCTIONS: Final = """\
Taskyard is a durable task queue. You hand it tasks; it decides when and where each runs, and keeps every result.

A task has a ref (T-042) and an id; both name it everywhere. It is queued, waiting (for tasks it depends on),
blocked (one of those failed; a person must act), scheduled, running, or has ended: completed, permanently_failed,
cancelled, skipped or stale. A failed attempt is tried again by itself. To hand work to others: submit_task or
submit_batch, then wait_for_tasks. If a task does not start, ask why before submitting it again.

You see and touch only what your key allows. With a task's token you can make, read and await sub-tasks of that
task, report its progress and hand in its result, and nothing else.

Errors have a `code` and a `detail` that says what to do:
- INVALID_INPUT, TOO_LARGE, DEPENDENCY_NOT_FOUND, DEPENDENCY_CYCLE, MODEL_NOT_ROUTED: correct the arguments;
  nothing was made.
- RATE_LIMITED, TOO_MANY_PENDING, BACKPRESSURE, OVERLOADED: too much at once. Wait `retry_after` seconds, then do
  less.
- MONTHLY_LIMIT_REACHED: the month's hours are used up. Tell the person.
- TASK_NOT_FOUND: there is no such task, or it is somebody else's.
- UNAUTHENTICATED, FORBIDDEN: your key or token does not open this. Do not try again.
- STALE_ATTEMPT: the task was taken from you (time-out, cancel, or it runs elsewhere). Stop working on it.
- IDEMPOTENCY_KEY_REUSED: this key was used for another content. Take another key.
  An answer with `deduplicated` and the status `cancelled` or `skipped` is no error, but nothing new was made: take
  another key if the work is to be done after all.
- HUB_REWOUND: the hub's database lost commits, and a person has to decide. Tell the person; the message says how.
- STORE_UNAVAILABLE, NO_LEADER, OUTCOME_UNKNOWN, HUB_UNREACHABLE: try again in a few seconds, with the same
  idempotency_key.
"""

SUBMIT_TASK: Final = _flowing("""
Hand in one task, to be run by whatever machine or agent is fit for it. Use it for work that can go on without you, or
that needs another machine, model or time. Comes back at once, when the task is safely stored, with its ref, status,
queue, place in the queue and, if known, when it will presumably start. The result comes later: wait_for_tasks. Give
an idempotency_key if you might repeat the call. For several tasks that depend on each other use submit_batch; for a
part of the task you run, submit_subtask.
""")

SUBMIT_BATCH: Final = _flowing("""
Hand in up to 1,000 tasks at once, all or none unless `partial`. Give each a `name` and let others list it in
`depends_on`: a task starts when all it depends on are completed, and is handed their results. Use it for a plan with
steps. Comes back with the tasks in order, each with its ref, and with `rejected` (index, code, detail).
DEPENDENCY_CYCLE names the circle; DEPENDENCY_NOT_FOUND a name that is neither in the batch nor a task of yours.
""")

SUBMIT_SUBTASK: Final = _flowing("""
Hand in a task that belongs to the one you are running now: it has the same owner, at least its importance within what
your token allows, and is shown under it. Use it to split your work among others. Wait for it with wait_for_tasks and
the same token: while you wait it may run in your place, so that waiting never blocks it. Comes back like submit_task.
STALE_ATTEMPT means your own task no longer runs: stop.
""")

GET_TASK: Final = _flowing("""
Read one task whole: what it is about, how it stands, its attempts, its progress, its result or error. Use it when you
need more than wait_for_tasks tells. TASK_NOT_FOUND also means that it is not yours.
""")

WAIT_FOR_TASKS: Final = _flowing("""
Wait until all these tasks have ended or the time is up (at most 50 seconds), whichever is first; call it again to go
on waiting. Comes back with `all_ended` and each task's status, result, result_summary and error. Look at each status:
an ended task may have failed. A task that stays queued or blocked: ask why.
""")

LIST_TASKS: Final = _flowing("""
List tasks of yours, newest first, by status, type, queue, correlation_id, parent or words. Long texts are cut. `more`
says that there are others: narrow the filters. Not possible with a task's token.
""")

CANCEL_TASK: Final = _flowing("""
End a task that is no longer wanted, and with it what depends on it (`also_cancelled`). One that runs is told to stop
and stays running until it has. TASK_ALREADY_COMPLETED or INVALID_TRANSITION: it has ended already. Needs a key of
scope tasks.
""")

WHY: Final = _flowing("""
Say in plain words why a task is not running, everything that holds it, what would change that and when it will
presumably start; of an ended task, how it ended. Use it before you wait longer or submit again.
""")

QUEUE_STATUS: Final = _flowing("""
How many of your tasks run and wait, whether one more would start now, the month's hours, and `backpressure`: at level
warning submit less, at critical only what matters. Use it before you hand in much. Not possible with a task's token.
""")

CLAIM_TASK: Final = _flowing("""
Ask for a task to do yourself, when you are here to work for the queue. Comes back with `claimed` false if none came in
`wait_s` seconds, else with the `task` (input, context, goal), `context_input` (results of tasks it depended on),
`previous_attempts`, `timeout` in seconds, and a `token`: give that token to report_progress, submit_subtask,
wait_for_tasks and complete_task. The task is yours from then on: end it with complete_task, also if you fail. If you
are connected over HTTP, call report_progress at least every `lease_s` seconds, or it is given to somebody else. Needs
a key of scope daemon.
""")

REPORT_PROGRESS: Final = _flowing("""
Tell how far the task is that you run: percent, a few words, lines for its log. People see it at once, and the hub
knows that you are alive. STALE_ATTEMPT: it is yours no longer, stop working on it.
""")

COMPLETE_TASK: Final = _flowing("""
Say that the task you run has ended: with its result and a summary, or with status failed and an error, which is tried
again unless `retryable` is false. Call it exactly once, as the last thing; saying it twice does no harm.
STALE_ATTEMPT: it was given to somebody else or cancelled meanwhile; what you handed in is kept beside it.
""")
