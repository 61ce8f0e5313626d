"""The tools: what each is called, what an agent reads about it, and the calls it makes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from taskyard.mcp import answers, words
from taskyard.mcp import arguments as given
from taskyard.mcp.brief import state, whole
from taskyard.mcp.yard import API, Ask, NoSuchTask, Outcome, ToolCall, Yard, claim_path, of_task, problem
from taskyard.vocabulary import ENDED, Refusal, SourceType
from taskyard.wire.invalid import faults_in, sentence_of
from taskyard.wire.problems import NO_SUCH_TASK
from taskyard.wire.tasks import CancelAnswer, OkAnswer
from taskyard.wire.why import WhyAnswer

WAIT_S_MAX: Final = 50.0
# Clients of this protocol commonly give a call a minute; what is left is for the way there and back.
WAITED_FOR_MAX: Final = 20
PROGRESS_S: Final = 5.0
"""Between two reports of progress: clients that give a call less time than it takes extend it by each."""
LISTED_MAX: Final = 100
SOURCE: Final = {"type": SourceType.AGENT.value, "channel": "mcp"}

A = TypeVar("A", bound=given.Arguments)


class Tool(Struct, Generic[A], frozen=True, kw_only=True):
    name: str
    title: str
    description: str
    takes: type[A]
    answers: type[Struct]
    do: Callable[[ToolCall, A], Awaitable[Outcome]]
    reads_only: bool = False
    destroys: bool = False


def _shown(outcome: Outcome, show: Callable[[Any], Any]) -> Outcome:
    return outcome if outcome.is_error else Outcome(show(outcome.value))


def _body(arguments: given.Arguments, *without: str) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(arguments)
    return {name: value for name, value in body.items() if name not in without}


def _task(arguments: given.TaskArguments, *without: str) -> dict[str, Any]:
    """A submission: an agent's, whatever key it came with."""
    return {**_body(arguments, *without), "source": SOURCE}


async def _submit(yard: Yard, arguments: given.SubmitTask) -> Outcome:
    return _shown(await yard.ask(Ask(method="POST", path=f"{API}/tasks", body=_task(arguments))), state)


async def _submit_subtask(yard: Yard, arguments: given.SubmitSubtask) -> Outcome:
    body = _task(arguments, "parent", "token")
    if arguments.parent is None and arguments.token is None and not yard.is_of_a_task:
        return problem(Refusal.INVALID_INPUT, "Name the `parent`, or give the `token` of the task this is a part of.")
    if arguments.parent is not None:
        body["parent_task_id"] = arguments.parent
    outcome = await yard.ask(Ask(method="POST", path=f"{API}/tasks", body=body, token=arguments.token))
    return _shown(outcome, state)


async def _submit_batch(yard: Yard, arguments: given.SubmitBatch) -> Outcome:
    body = {"tasks": [_task(task) for task in arguments.tasks], "partial": arguments.partial}
    outcome = await yard.ask(Ask(method="POST", path=f"{API}/tasks/batch", body=body))
    return _shown(
        outcome,
        lambda answer: {"tasks": [state(task) for task in answer["tasks"]], "rejected": answer["rejected"]},
    )


async def _get(yard: Yard, arguments: given.GetTask) -> Outcome:
    return _shown(await yard.ask(Ask(method="GET", path=of_task(arguments.task))), whole)


async def _wait(call: ToolCall, arguments: given.WaitForTasks) -> Outcome:
    """One after another in one span of time: what has ended meanwhile answers at once. All are looked at first, so
    that a caller does not wait for some in order to hear that another is none."""
    if not 0 < len(arguments.tasks) <= WAITED_FOR_MAX:
        return problem(Refusal.INVALID_INPUT, f"`tasks`: name 1 to {WAITED_FOR_MAX} tasks")
    clock = asyncio.get_running_loop().time
    waits_s = min(max(arguments.wait_s, 0.0), WAIT_S_MAX)
    began = clock()
    seen: dict[str, Any] = {}
    for task in (*arguments.tasks, *arguments.tasks):
        while task not in seen or seen[task]["status"] not in ENDED:
            waited_s = clock() - began
            wait_s = _piece_of(call, waits_s - waited_s) if task in seen else 0.0
            if task in seen and not wait_s:
                break
            if wait_s:
                await _report(call, seen, waited_s, waits_s)
            outcome = await _look_at(call, task, wait_s, arguments.token)
            if outcome.is_error:
                return Outcome({**outcome.value, "task": task}, is_error=True)
            is_first, seen[task] = task not in seen, outcome.value
            if is_first:
                break
    ended = all(task["status"] in ENDED for task in seen.values())
    return Outcome({"all_ended": ended, "tasks": [state(seen[task]) for task in arguments.tasks]})


def _piece_of(call: ToolCall, left_s: float) -> float:
    """How long to wait at a stretch: who wants to hear of progress hears it between two."""
    return round(max(min(left_s, PROGRESS_S if call.wants_progress else left_s), 0.0), 3)


async def _look_at(call: ToolCall, task: str, wait_s: float, token: str | None) -> Outcome:
    return await call.ask(Ask(method="GET", path=of_task(task), query={"wait_s": wait_s}, token=token, wait_s=wait_s))


async def _report(call: ToolCall, seen: Mapping[str, Any], waited_s: float, waits_s: float) -> None:
    ended = sum(task["status"] in ENDED for task in seen.values())
    await call.report(waited_s, waits_s, f"{ended} of {len(seen)} tasks have ended")


async def _list(yard: Yard, arguments: given.ListTasks) -> Outcome:
    limit = min(max(arguments.limit, 1), LISTED_MAX)
    query = {**_body(arguments), "limit": limit + 1}
    outcome = await yard.ask(Ask(method="GET", path=f"{API}/tasks", query=query))
    return _shown(outcome, lambda found: {"tasks": [whole(task) for task in found[:limit]], "more": len(found) > limit})


async def _cancel(yard: Yard, arguments: given.CancelTask) -> Outcome:
    return await yard.ask(Ask(method="DELETE", path=of_task(arguments.task), query=_body(arguments, "task")))


async def _why(yard: Yard, arguments: given.Why) -> Outcome:
    return await yard.ask(Ask(method="GET", path=of_task(arguments.task, "why")))


async def _queue_status(yard: Yard, _: given.QueueStatus) -> Outcome:
    status = await yard.ask(Ask(method="GET", path=f"{API}/tasks/queue-status"))
    pressure = status if status.is_error else await yard.ask(Ask(method="GET", path=f"{API}/backpressure"))
    return _shown(pressure, lambda line: {**status.value, "backpressure": line})


async def _claim(yard: Yard, arguments: given.ClaimTask) -> Outcome:
    wait_s = min(max(arguments.wait_s, 0.0), WAIT_S_MAX)
    body = {**_body(arguments), "wait_s": wait_s}
    # Asked again it would be another claim.
    outcome = await yard.ask(Ask(method="POST", path=claim_path(), body=body, wait_s=wait_s, idempotent=False))
    return _shown(outcome, lambda claimed: {"claimed": bool(claimed), **(claimed or {})})


async def _report_progress(yard: Yard, arguments: given.ReportProgress) -> Outcome:
    body, path = _body(arguments, "task", "token"), of_task(arguments.task, "progress")
    # Lines for the log would be there twice.
    idempotent = arguments.log is None
    return await yard.ask(Ask(method="POST", path=path, body=body, token=arguments.token, idempotent=idempotent))


async def _complete(yard: Yard, arguments: given.CompleteTask) -> Outcome:
    body = {**_body(arguments, "task", "token"), "status": arguments.status}
    if arguments.status == "completed":
        body["result"] = arguments.result
    path = of_task(arguments.task, "complete")
    return await yard.ask(Ask(method="POST", path=path, body=body, token=arguments.token))


TOOLS: Final[Sequence[Tool[Any]]] = (
    Tool(
        name="submit_task",
        title="Submit a task",
        takes=given.SubmitTask,
        answers=answers.TaskState,
        do=_submit,
        description=words.SUBMIT_TASK,
    ),
    Tool(
        name="submit_batch",
        title="Submit tasks that depend on each other",
        takes=given.SubmitBatch,
        answers=answers.SubmittedBatch,
        do=_submit_batch,
        description=words.SUBMIT_BATCH,
    ),
    Tool(
        name="submit_subtask",
        title="Make a part of the task you run",
        takes=given.SubmitSubtask,
        answers=answers.TaskState,
        do=_submit_subtask,
        description=words.SUBMIT_SUBTASK,
    ),
    Tool(
        name="get_task",
        title="Read a task",
        takes=given.GetTask,
        answers=answers.WholeTask,
        do=_get,
        reads_only=True,
        description=words.GET_TASK,
    ),
    Tool(
        name="wait_for_tasks",
        title="Wait for tasks to end",
        takes=given.WaitForTasks,
        answers=answers.WaitedFor,
        do=_wait,
        reads_only=True,
        description=words.WAIT_FOR_TASKS,
    ),
    Tool(
        name="list_tasks",
        title="Find tasks",
        takes=given.ListTasks,
        answers=answers.FoundTasks,
        do=_list,
        reads_only=True,
        description=words.LIST_TASKS,
    ),
    Tool(
        name="cancel_task",
        title="Cancel a task",
        takes=given.CancelTask,
        answers=CancelAnswer,
        do=_cancel,
        destroys=True,
        description=words.CANCEL_TASK,
    ),
    Tool(
        name="why",
        title="Why a task does not run",
        takes=given.Why,
        answers=WhyAnswer,
        do=_why,
        reads_only=True,
        description=words.WHY,
    ),
    Tool(
        name="queue_status",
        title="How much runs and waits",
        takes=given.QueueStatus,
        answers=answers.QueueState,
        do=_queue_status,
        reads_only=True,
        description=words.QUEUE_STATUS,
    ),
    Tool(
        name="claim_task",
        title="Claim a task to work on",
        takes=given.ClaimTask,
        answers=answers.Claimed,
        do=_claim,
        description=words.CLAIM_TASK,
    ),
    Tool(
        name="report_progress",
        title="Report progress",
        takes=given.ReportProgress,
        answers=OkAnswer,
        do=_report_progress,
        description=words.REPORT_PROGRESS,
    ),
    Tool(
        name="complete_task",
        title="Hand in a result",
        takes=given.CompleteTask,
        answers=OkAnswer,
        do=_complete,
        description=words.COMPLETE_TASK,
    ),
)
BY_NAME: Final = {tool.name: tool for tool in TOOLS}
REPORTING: Final = frozenset({"wait_for_tasks"})
"""Those that report progress to callers who want to hear of it."""


class NoSuchTool(Exception):
    """What was called is none of the tools."""


async def use(name: str, arguments: dict[str, Any], call: ToolCall) -> Outcome:
    """Do what a tool does. A wrong argument is told like any other problem, so that an agent can correct it.

    Raises `NoSuchTool`.
    """
    tool = BY_NAME.get(name)
    if tool is None:
        raise NoSuchTool(f"There is no tool {name}; there are {', '.join(BY_NAME)}.")
    try:
        given_arguments = msgspec.convert(arguments, tool.takes)
    except msgspec.ValidationError as error:
        faults = faults_in(str(error), tool.takes)
        return problem(Refusal.INVALID_INPUT, " ".join(map(sentence_of, faults)))
    try:
        return await tool.do(call, given_arguments)
    except NoSuchTask:
        return problem(Refusal.TASK_NOT_FOUND, NO_SUCH_TASK)
