"""What is answered to a message, in its language, from facts that the caller has looked up.

A confirmation names everything that was decided about each task, since the parser may have decided otherwise than its
reader thought: ref, queue, model, what it waits for, where it stands.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from taskyard.chat.drafts import TASKS_MAX
from taskyard.chat.parsed import Language, Parsed, ParsedCommand, ParsedTask, Question
from taskyard.chat.parser import MESSAGE_CHARS_MAX
from taskyard.chat.phrases import PHRASES, Phrases
from taskyard.vocabulary import ChatCommand, Level, QueueState, Refusal, Status
from taskyard.vocabulary.reasons import Reason

TEXT_CHARS_MAX: Final = 80
"""Of a task's text in a line about it."""
CHOICES_MAX: Final = 12
TRIED: Final = frozenset({Status.PERMANENTLY_FAILED, Status.FAILED, Status.TIMEOUT})


class Because(Struct, frozen=True):
    """Why a task stands as it does: in English, and by its code for other languages."""

    says: str
    code: Reason | None = None
    used: float | None = None
    limit: float | None = None


class TaskFacts(Struct, frozen=True, kw_only=True):
    """A task, as far as it is told of."""

    ref: str
    text: str
    status: Status
    queue: str
    model: str | None = None
    depends_on: tuple[str, ...] = ()
    position: int | None = None
    was_known: bool = False
    summary: str | None = None
    error: str | None = None
    tries: int = 0
    lasted_ms: int | None = None
    """How long it took, or has run so far."""
    priority: Level | None = None
    goal: str | None = None
    because: Because | None = None
    failed: tuple[tuple[str, Status], ...] = ()
    """What it depends on and did not complete, by ref, with how it ended."""


class QueueFacts(Struct, frozen=True, kw_only=True):
    name: str
    state: QueueState
    waiting: int
    running: int
    done: int
    tasks: tuple[TaskFacts, ...] = ()
    more: int = 0
    """Open tasks that are not among `tasks`."""
    failed: tuple[TaskFacts, ...] = ()
    """The newest of those that failed for good …"""
    failures: int = 0
    """… and how many there are of them."""
    is_cut: bool = False
    """There are more tasks than were looked at: what waits and what failed are at least as many."""


class Acted(Struct, frozen=True, kw_only=True):
    """What became of a control command."""

    command: ChatCommand
    ref: str
    ok: bool
    detail: str | None = None
    """Why not: in English, and by its code for other languages."""
    code: Refusal | None = None
    status: Status | None = None
    """Of the task, if it is there."""
    is_stopping: bool = False
    """It ran, and is cancelled once its daemon has stopped it."""
    also: tuple[str, ...] = ()


class Blocked(Struct, frozen=True):
    ref: str
    by: tuple[str, ...]
    """What it waits for and will not get as things are …"""
    retryable: tuple[str, ...] = ()
    """… of which these can be tried again."""


NOTHING_REFUSED: Final[Mapping[ParsedCommand, Acted]] = {}


# Answers.


def confirmation(language: Language, tasks: Sequence[TaskFacts]) -> str:
    """What was added, or what a message that came again had added."""
    phrases = PHRASES[language]
    is_all_known = all(task.was_known for task in tasks)
    added = phrases.added_one if len(tasks) == 1 else phrases.added.format(len(tasks))
    lines = (_added(phrases, task, is_all_known=is_all_known) for task in tasks)
    return "\n".join([phrases.repeated if is_all_known else added, *lines])


def proposal(parsed: Parsed, refused: Mapping[ParsedCommand, Acted] = NOTHING_REFUSED) -> str:
    """What would be done, for whoever wants to see it first; and what of it would be refused."""
    phrases = PHRASES[parsed.language]
    lines: list[str] = []
    if parsed.tasks:
        count = len(parsed.tasks)
        lines.append(phrases.would_add_one if count == 1 else phrases.would_add.format(count))
        lines += [f"- {_proposed(phrases, number, task)}" for number, task in enumerate(parsed.tasks, 1)]
    for command in parsed.commands:
        no = refused.get(command)
        lines.append(phrases.would_do.format(_asked(phrases, command)) if no is None else acted(parsed.language, no))
    return "\n".join(lines)


def not_again(language: Language, command: ParsedCommand) -> str:
    """That a message came again, whose command was done when it first came."""
    phrases = PHRASES[language]
    return phrases.not_again.format(_asked(phrases, command))


def acted(language: Language, done: Acted) -> str:
    phrases = PHRASES[language]
    if not done.ok:
        detail = detail_of(language, done) or ""
        return phrases.refused.format(command=phrases.verbs[done.command], ref=done.ref, detail=detail)
    also = phrases.also.format(phrases.comma.join(done.also)) if done.also else ""
    says = phrases.stopping if done.is_stopping else phrases.acted[done.command]
    return says.format(ref=done.ref) + also


def detail_of(language: Language, done: Acted) -> str | None:
    """Why a command was refused."""
    phrases = PHRASES[language]
    if done.code is None or not phrases.refusals:
        return done.detail
    status = "" if done.status is None else phrases.statuses[done.status]
    says = phrases.refusals.get(done.code, phrases.refused_otherwise)
    return says.format(ref=done.ref, status=status, verb=phrases.verbs[done.command], code=done.code)


def queue_status(language: Language, queues: Sequence[QueueFacts]) -> str:
    """Queue by queue: its counts, and what is open in it."""
    phrases = PHRASES[language]
    lines = [line for queue in queues for line in _queue(phrases, queue)]
    return "\n".join(lines) or phrases.nothing_open


def task_status(language: Language, task: TaskFacts) -> str:
    """How one task stands or ended."""
    phrases = PHRASES[language]
    if task.status is Status.COMPLETED:
        said = phrases.done.format(ref=task.ref, summary=_line(task.summary or task.text))
        return said + _bracketed(phrases, _facts(phrases, task))
    if task.status in TRIED:
        tries = phrases.tries_one if task.tries == 1 else phrases.tries.format(task.tries)
        facts = _bracketed(phrases, _facts(phrases, task))
        return phrases.failed.format(ref=task.ref, tries=tries, error=_line(task.error or ""), facts=facts)
    said = phrases.stands.format(ref=task.ref, status=phrases.statuses[task.status])
    said += _bracketed(phrases, _facts(phrases, task)) + phrases.colon + _line(task.text)
    because = _because(phrases, task)
    return f"{said}\n{because}" if because else said


def all_blocked(language: Language, tasks: Iterable[Blocked]) -> str:
    """That nothing goes on by itself, and what would help each."""
    phrases = PHRASES[language]
    lines = [phrases.all_blocked]
    for task in tasks:
        by, first = phrases.comma.join(task.by), next(iter(task.retryable), None)
        says = phrases.blocked if first is None else phrases.blocked_by
        lines.append(says.format(ref=task.ref, by=by, first=first))
    return "\n".join(lines)


def question(language: Language, asked: Question) -> str:
    phrases = PHRASES[language]
    choices = phrases.comma.join(asked.choices[:CHOICES_MAX])
    words = phrases.which_of if asked.choices and not asked.about else phrases.questions[asked.missing]
    return words.format(about=asked.about, choices=choices, tasks=TASKS_MAX, chars=MESSAGE_CHARS_MAX)


def not_understood(language: Language) -> str:
    return PHRASES[language].not_understood


# Parts of them.


def _asked(phrases: Phrases, command: ParsedCommand) -> str:
    words = (phrases.verbs[command.command], command.ref, command.queue)
    return " ".join(word for word in words if word)


def _added(phrases: Phrases, task: TaskFacts, *, is_all_known: bool) -> str:
    facts = list(_facts(phrases, task))
    if task.was_known and not is_all_known:
        facts.append(phrases.known)
    return f"- {task.ref}{phrases.colon}{_line(task.text)}{_bracketed(phrases, facts)}"


def _proposed(phrases: Phrases, number: int, task: ParsedTask) -> str:
    waits = [one if isinstance(one, str) else f"#{one + 1}" for one in task.depends_on]
    facts = _decided(phrases, task, waits)
    return f"#{number}{phrases.colon}{_line(task.input)}{_bracketed(phrases, facts)}"


def _decided(phrases: Phrases, task: ParsedTask | TaskFacts, waits: Sequence[str]) -> Iterator[str]:
    if task.queue is not None:
        yield phrases.queue.format(task.queue)
    if task.model is not None:
        yield phrases.model.format(task.model)
    if waits:
        yield phrases.after.format(phrases.comma.join(waits))
    if task.priority is not None:
        yield phrases.priority.format(phrases.levels.get(task.priority, task.priority))
    if task.goal is not None:
        yield phrases.goal.format(_line(task.goal))


def _facts(phrases: Phrases, task: TaskFacts) -> Iterator[str]:
    yield from _decided(phrases, task, task.depends_on)
    if task.position is not None:
        yield phrases.position.format(task.position)
    if task.lasted_ms is not None:
        lasted = phrases.runs if task.status is Status.RUNNING else phrases.ran
        yield lasted.format(_span(phrases, task.lasted_ms))


def _because(phrases: Phrases, task: TaskFacts) -> str:
    ended = [phrases.ended.format(ref=ref, status=phrases.statuses[status]) for ref, status in task.failed]
    failed, because = phrases.comma.join(ended), task.because
    if because is None:
        return failed
    says = None if because.code is None else phrases.reasons.get(because.code)
    return says.format(used=because.used, limit=because.limit, failed=failed) if says else because.says


def _queue(phrases: Phrases, queue: QueueFacts) -> Iterator[str]:
    plus = "+" if queue.is_cut else ""
    waiting, failures = f"{queue.waiting}{plus}", f"{queue.failures}{plus}"
    line = phrases.queue_line.format(name=queue.name, running=queue.running, waiting=waiting, done=queue.done)
    if queue.failures:
        line += phrases.queue_failed.format(failures)
    if queue.state is not QueueState.OPEN:
        line += phrases.queue_state.format(phrases.states[queue.state])
    yield line
    for task in queue.tasks:
        yield f"  {_open(phrases, task)}"
    if queue.more:
        yield phrases.more.format(queue.more)
    elif not queue.tasks:
        yield phrases.queue_empty
    for task in queue.failed:
        yield f"  {_open(phrases, task)}"
    if queue.failed:
        yield phrases.try_again.format(queue.failed[0].ref)


def _open(phrases: Phrases, task: TaskFacts) -> str:
    """ "T-004 waiting: write the report (after T-003)"."""
    facts = []
    if task.lasted_ms is not None:
        facts.append(phrases.runs.format(_span(phrases, task.lasted_ms)))
    if task.depends_on:
        facts.append(phrases.after.format(phrases.comma.join(task.depends_on)))
    if task.error is not None and task.status in TRIED:
        facts.append(_line(task.error))
    because = _because(phrases, task)
    if because:
        facts.append(because.rstrip("."))
    words = f"{task.ref} {phrases.statuses[task.status]}{phrases.colon}{_line(task.text)}"
    return words + _bracketed(phrases, facts)


def _bracketed(phrases: Phrases, facts: Iterable[str]) -> str:
    words = phrases.comma.join(facts)
    return phrases.brackets.format(words) if words else ""


def _line(text: str) -> str:
    """On one line, cut with an ellipsis."""
    line = " ".join(text[: 4 * TEXT_CHARS_MAX].split())
    return line if len(line) <= TEXT_CHARS_MAX else line[: TEXT_CHARS_MAX - 1].rstrip() + "…"


def _span(phrases: Phrases, ms: int) -> str:
    """A duration in its largest unit, rounded."""
    seconds = ms / 1000
    for unit_s, words in ((86_400, phrases.days), (3_600, phrases.hours), (60, phrases.minutes)):
        if seconds >= unit_s:
            return words.format(round(seconds / unit_s))
    return phrases.seconds.format(max(1, round(seconds)))
