"""What is said to who hands in a task that no daemon can run: it waits, and not for its turn."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from taskyard.cli import output
from taskyard.vocabulary import Status
from taskyard.vocabulary.reasons import FOR_NOBODY, Lack, Reason

if TYPE_CHECKING:
    from taskyard.cli.options import Yard
    from taskyard.sdk.answers import TaskRecord, Why

PASSING: Final = frozenset({Lack.DAEMON_FULL, Lack.DAEMON_HELD, Lack.DAEMON_AVOIDED, Lack.MEMORY_SHORT})
"""What a daemon that runs such tasks may lack for a while."""
ASKED_MAX: Final = 5
# Of a batch: a question each, and a line each at most.


def warn(tasks: "Sequence[TaskRecord]", yard: "Yard") -> None:
    """A line for each kind of task that nothing runs which is connected; none for programs.

    The tasks are taken in, so what goes wrong here is not told: it would look as if they were not.
    """
    from taskyard.sdk.errors import TaskyardError

    if yard.json:
        return
    kinds: dict[object, TaskRecord] = {}
    for task in filter(_may_be_stranded, tasks):
        kinds.setdefault(_kind(task), task)
    for task in islice(kinds.values(), ASKED_MAX):
        try:
            told = yard.client.why(task.id)
        except TaskyardError:
            return
        if _is_for_nobody(told):
            output.note(
                f"{task.ref}: {told.summary} It waits until one comes that can; "
                "`taskyard daemon --help` says how to start one."
            )


def _may_be_stranded(task: "TaskRecord") -> bool:
    """One that the hub gives no start; where it misses one daemon, that is said with its status."""
    return task.status is Status.QUEUED and task.estimated_start is None and task.waiting_for_daemon is None


def _kind(task: "TaskRecord") -> object:
    """What of a task is asked of a daemon."""
    needs = task.requirements
    return task.type, task.model, tuple(needs.capabilities), needs.target_daemon, tuple(needs.excluded_daemons)


def _is_for_nobody(told: "Why") -> bool:
    codes = {reason.code for reason in told.reasons}
    if codes.intersection(FOR_NOBODY):
        return True
    runs_it = (one for one in told.daemons if PASSING.issuperset(lack.code for lack in one.lacks))
    return Reason.NO_FREE_SLOT in codes and next(runs_it, None) is None
