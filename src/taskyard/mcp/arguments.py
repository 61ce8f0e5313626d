"""What each tool takes, with the words an agent reads about it.

Names and shapes are those of the HTTP interface. Only the shape is said here: bounds and rules are the hub's, which
answers with the field's name when one is broken.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from taskyard.vocabulary import DependsPolicy, ResultStatus
from taskyard.wire.submission import Execution, Priority, Requirements


def _said(text: str) -> Meta:
    return Meta(description=text)


TaskName = Annotated[str, _said("The task's ref (T-042) or id.")]
TokenOption = Annotated[
    str | None,
    _said("The `token` that claim_task gave you for this task. Leave it out if you are connected with it already."),
]
AttemptOption = Annotated[
    int | None, _said("The attempt's number. Only needed when you are connected with a daemon's key and give no token.")
]


class Arguments(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Of any tool. What is left out has the hub's default."""


class TaskArguments(Arguments):
    """A new task."""

    input: Annotated[str, _said("What is to be done, complete in itself: whoever runs it sees nothing else of you.")]
    type: Annotated[
        str | None, _said("What kind of work it is, e.g. analysis. Daemons may serve some types only. [general]")
    ] = None
    title: Annotated[str | None, _said("A few words for people.")] = None
    goal: Annotated[str | None, _said("What the result should be good for.")] = None
    constraints: Annotated[list[str] | None, _said("What must be kept to, one sentence each.")] = None
    context: Annotated[dict[str, Any] | None, _said("Facts the work needs, as JSON.")] = None
    payload: Annotated[dict[str, Any] | None, _said("Structured input for the program that runs it.")] = None
    metadata: Annotated[dict[str, Any] | None, _said("Your own notes; kept and never interpreted.")] = None
    model: Annotated[str | None, _said("The model that is to do it; decides the queue.")] = None
    queue: Annotated[str | None, _said("The queue, if it does not follow from the model.")] = None
    priority: Annotated[
        Priority | None,
        _said("critical, high, normal, low, or 1 (least) to 10. Brought down to what your key or token may have."),
    ] = None
    deadline: Annotated[str | None, _said("When it is too late to start: ISO 8601 with a zone.")] = None
    scheduled_for: Annotated[str | None, _said("Not before this instant: ISO 8601 with a zone.")] = None
    depends_on: Annotated[
        list[str] | None,
        _said("Refs or ids of tasks that must complete first (in a batch also names); their results are handed on."),
    ] = None
    on_depends_fail: Annotated[
        DependsPolicy | None,
        _said("When one of them fails: block (wait for a person), skip this task, or continue without it. [block]"),
    ] = None
    correlation_id: Annotated[str | None, _said("A mark that related tasks share; list_tasks finds them by it.")] = None
    idempotency_key: Annotated[
        str | None,
        _said("Name this submission, and sending it again makes no second task but answers with the first."),
    ] = None
    requirements: Annotated[Requirements | None, _said("What the machine that runs it must have.")] = None
    execution: Annotated[Execution | None, _said("Its timeout in seconds, attempts and retries.")] = None


class SubmitTask(TaskArguments):
    """A task of its own."""


class SubmitSubtask(TaskArguments):
    """A part of a task that runs."""

    parent: Annotated[
        str | None,
        _said(
            "The task this is a part of. Leave it out if you are connected with a task's token: then it is that task."
        ),
    ] = None
    token: TokenOption = None


class NamedTask(TaskArguments):
    """One task of a batch."""

    name: Annotated[str | None, _said("By which others of this batch can depend on it.")] = None


class SubmitBatch(Arguments):
    tasks: Annotated[list[NamedTask], _said("At least one. Order does not matter; `depends_on` decides.")]
    partial: Annotated[bool, _said("Take the good ones and say which were not taken, instead of all or none.")] = False


class GetTask(Arguments):
    task: TaskName


class WaitForTasks(Arguments):
    tasks: Annotated[list[str], _said("Refs or ids; at most 20.")]
    wait_s: Annotated[float, _said("How long to wait in all, at most 50 seconds.")] = 25.0
    token: TokenOption = None


class ListTasks(Arguments):
    status: Annotated[
        str | None, _said("Statuses with commas between: queued, running, completed, permanently_failed, blocked, …")
    ] = None
    type: str | None = None
    queue: str | None = None
    correlation_id: str | None = None
    parent_task_id: Annotated[str | None, _said("Only sub-tasks of this task (its id).")] = None
    q: Annotated[str | None, _said("Words in title or input.")] = None
    limit: Annotated[int, _said("How many at most, up to 100.")] = 20


class CancelTask(Arguments):
    task: TaskName
    reason: Annotated[str | None, _said("Why; kept with the task.")] = None


class Why(Arguments):
    task: TaskName


class QueueStatus(Arguments):
    """It takes nothing."""


class ClaimTask(Arguments):
    name: Annotated[str, _said("What you are called; shown to people as the machine that runs it.")]
    capabilities: Annotated[
        list[str] | None, _said("What you can do; tasks that require more are not given to you.")
    ] = None
    types: Annotated[list[str] | None, _said("Which types of task you take. [all]")] = None
    models: Annotated[list[str] | None, _said("Which models you serve. [any]")] = None
    wait_s: Annotated[float, _said("How long to wait for one, at most 50 seconds.")] = 20.0


class ReportProgress(Arguments):
    task: TaskName
    percent: Annotated[float | None, _said("0 to 100.")] = None
    message: Annotated[str | None, _said("What you are at, in a few words.")] = None
    log: Annotated[str | None, _said("Lines for the task's log.")] = None
    token: TokenOption = None
    attempt: AttemptOption = None


class CompleteTask(Arguments):
    task: TaskName
    status: Annotated[Literal["completed", "failed"], _said("How it ended.")] = "completed"
    result: Annotated[Any, _said("What came of it: any JSON. Tasks that depend on this one are handed it.")] = None
    summary: Annotated[str | None, _said("The same in a sentence or two.")] = None
    result_status: Annotated[
        ResultStatus | None, _said("success; partial, if it was not all; failed is tried again. [success]")
    ] = None
    files_changed: Annotated[list[str] | None, _said("Paths that you changed.")] = None
    decision_report: Annotated[
        dict[str, Any] | None,
        _said("Where the task requires one: decision and reasoning; alternatives, risks, verification if there are."),
    ] = None
    error: Annotated[
        dict[str, Any] | str | None,
        _said("With status failed: what went wrong, or {code, message, retryable}; retryable false gives up."),
    ] = None
    token: TokenOption = None
    attempt: AttemptOption = None
