"""`POST /intake`: a chat message becomes tasks and commands, and an answer in its language.

The parser decides what was meant, the core whether it may be; here one is carried to the other. All tasks of a message
are one batch, taken whole or refused whole; then its commands are done one by one, each by itself.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from taskyard.chat import replies
from taskyard.chat.parsed import Language, Missing, Parsed, ParsedCommand, ParsedTask, Question, Source, Sources
from taskyard.chat.parser import parse
from taskyard.core.cancel import objection_to
from taskyard.core.commands import CancelTask, RetryTask, SkipTask
from taskyard.core.effects import Done, Refused
from taskyard.core.why import Why
from taskyard.gateway import chat_facts
from taskyard.gateway.call import Call, OfUser, Reply, RequestRefused, task_not_found
from taskyard.gateway.port import Unavailable
from taskyard.gateway.present import task_answer
from taskyard.gateway.rest.submit import take_in
from taskyard.gateway.rest.why import why_of
from taskyard.gateway.views import QueueView
from taskyard.store.port import StoredTask
from taskyard.vocabulary import ENDED, HELD, ChatCommand, Refusal, SourceType, Status
from taskyard.wire.intake import CommandAnswer, Intake, IntakeAnswer, ParsedTaskAnswer
from taskyard.wire.problems import PROBLEMS
from taskyard.wire.submission import Batch, BatchItem
from taskyard.wire.submission import Source as Origin
from taskyard.wire.tasks import TaskAnswer

FORESEEN_MAX: Final = 10
# Tasks of one message whose place is asked for: each may be a round trip to the hub that leads.
CONTROL: Final = {
    ChatCommand.CANCEL: CancelTask,
    ChatCommand.RETRY: RetryTask,
    ChatCommand.SKIP: SkipTask,
}

GOALS: Final = {ChatCommand.CANCEL: Status.CANCELLED, ChatCommand.SKIP: Status.SKIPPED}
"""Where a command brings its task. What is tried again may come to stand anywhere."""


class _Answer:
    """What is answered, as it comes about."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self.lines: list[str] = []
        self.tasks: list[TaskAnswer] = []
        self.commands: list[CommandAnswer] = []

    def reply(self) -> Reply:
        parsed, language = self.parsed, self.parsed.language
        question = None if parsed.question is None else replies.question(language, parsed.question)
        return Reply(
            IntakeAnswer(
                reply=question or "\n".join(self.lines) or replies.not_understood(language),
                tasks=self.tasks,
                commands=self.commands,
                question=question,
                understood=parsed.is_understood,
                parsed=[_shown(task) for task in parsed.tasks],
            )
        )


async def take(call: Call[OfUser], body: Intake) -> Reply:
    user_id = call.user_id(call.query.user)
    views = await call.hub.queues(user_id)
    parsed = parse(body.text, _sources(views, call.hub.settings.default_queue))
    unknown = await _unknown_ref(call, user_id, parsed)
    if unknown is not None:
        parsed = Parsed(parsed.language, question=Question(Missing.UNKNOWN_TASK, unknown))
    answer = _Answer(parsed)
    if body.dry_run:
        await _propose(call, user_id, answer)
    elif parsed.tasks or parsed.commands:
        await _do(call, user_id, answer, channel=body.channel, views=views)
    return answer.reply()


async def _unknown_ref(call: Call[OfUser], user_id: str, parsed: Parsed) -> str | None:
    """The first task that one of these waits for and that is not this user's."""
    refs = tuple(dict.fromkeys(one for task in parsed.tasks for one in task.depends_on if isinstance(one, str)))
    if not refs:
        return None
    known = await call.hub.read(lambda reader: reader.known(user_id=user_id, ids=(), refs=refs, keys=()))
    return next((ref for ref in refs if ref not in known.refs), None)


async def _propose(call: Call[OfUser], user_id: str, answer: _Answer) -> None:
    """What would be done; commands are held against the tasks they name, as far as that can be said beforehand."""
    parsed = answer.parsed
    refused: dict[ParsedCommand, replies.Acted] = {}
    for one in parsed.commands:
        objection = await _objection(call, user_id, one)
        ok = detail = None
        if objection is not None:
            refused[one], ok, detail = objection, False, replies.detail_of(parsed.language, objection)
        answer.commands.append(CommandAnswer(command=one.command, ref=one.ref, queue=one.queue, ok=ok, detail=detail))
    if parsed.tasks or parsed.commands:
        answer.lines.append(replies.proposal(parsed, refused))


async def _objection(call: Call[OfUser], user_id: str, one: ParsedCommand) -> replies.Acted | None:
    if one.ref is None:
        return None
    stored = await _find(call, user_id, one.ref)
    if stored is None:
        return _refused(one, task_not_found())
    goal = GOALS.get(one.command)
    objection = None if goal is None else objection_to(stored.task, goal)
    return None if objection is None else _refused(one, objection, stored)


def _refused(one: ParsedCommand, why: Refused | RequestRefused, stored: StoredTask | None = None) -> replies.Acted:
    status = None if stored is None else stored.task.status
    return replies.Acted(
        command=one.command, ref=one.ref or "", ok=False, detail=why.detail, code=why.code, status=status
    )


def _sources(views: Sequence[QueueView], default: str) -> Sources:
    return Sources(tuple(Source(view.name, view.models) for view in views), default)


def _shown(task: ParsedTask) -> ParsedTaskAnswer:
    return ParsedTaskAnswer(
        input=task.input,
        model=task.model,
        queue=task.queue,
        depends_on=list(task.depends_on),
        priority=task.priority,
        goal=task.goal,
    )


async def _do(call: Call[OfUser], user_id: str, answer: _Answer, *, channel: str, views: list[QueueView]) -> None:
    parsed = answer.parsed
    if parsed.tasks:
        await _submit(call, user_id, answer, channel)
    was_known = bool(answer.tasks) and all(task.deduplicated for task in answer.tasks)
    for command in parsed.commands:
        if command.command in CONTROL and was_known:
            # It came again under its key: a task that has failed since would be tried again by a message of before.
            answer.lines.append(replies.not_again(parsed.language, command))
            answer.commands.append(CommandAnswer(command=command.command, ref=command.ref))
        elif command.command in CONTROL:
            await _control(call, user_id, answer, command)
        elif command.ref is not None:
            await _task_status(call, user_id, answer, command)
        else:
            await _queue_status(call, user_id, answer, command, views)
    stuck = await call.hub.read(lambda reader: chat_facts.blocked(reader, user_id))
    if stuck:
        answer.lines.append(replies.all_blocked(parsed.language, stuck))


# Tasks.


async def _submit(call: Call[OfUser], user_id: str, answer: _Answer, channel: str) -> None:
    parsed = answer.parsed
    items = [_item(place, task, channel) for place, task in enumerate(parsed.tasks)]
    taken, _ = await take_in(call, user_id, Batch(items))
    queued = [stored.task.id for stored, _ in taken if stored.task.status is Status.QUEUED][:FORESEEN_MAX]
    forecasts = dict(zip(queued, await asyncio.gather(*map(call.hub.forecast, queued)), strict=True))
    refs = await call.hub.read(lambda reader: chat_facts.refs_of(reader, user_id, [stored.task for stored, _ in taken]))
    facts = []
    for asked, (stored, was_known) in zip(parsed.tasks, taken, strict=True):
        forecast = forecasts.get(stored.task.id)
        answer.tasks.append(task_answer(stored, deduplicated=was_known, forecast=forecast))
        position = None if forecast is None else forecast.position
        # As it is, which may be less than was asked for: a key has its own ceiling.
        priority = None if asked.priority is None else stored.task.level
        facts.append(
            chat_facts.task_facts(
                stored,
                refs,
                call.hub.now_ms(),
                position=position,
                was_known=was_known,
                priority=priority,
                goal=asked.goal,
            )
        )
    answer.lines.append(replies.confirmation(parsed.language, facts))


def _item(place: int, task: ParsedTask, channel: str) -> BatchItem:
    """A person typed it: whatever channel it came by, it is a user's task."""
    return BatchItem(
        name=_name(place),
        input=task.input,
        model=task.model,
        queue=task.queue,
        priority=task.priority,
        goal=task.goal,
        depends_on=[one if isinstance(one, str) else _name(one) for one in task.depends_on],
        source=Origin(SourceType.USER, None, channel),
    )


def _name(place: int) -> str:
    return f"#{place + 1}"


# Commands.


async def _find(call: Call[OfUser], user_id: str, ref: str) -> StoredTask | None:
    return await call.hub.read(lambda reader: reader.find(user_id=user_id, task=ref))


async def _control(call: Call[OfUser], user_id: str, answer: _Answer, one: ParsedCommand) -> None:
    done = await _done(call, user_id, one)
    answer.lines.append(replies.acted(answer.parsed.language, done))
    detail = replies.detail_of(answer.parsed.language, done)
    answer.commands.append(CommandAnswer(command=one.command, ref=one.ref, ok=done.ok, detail=detail))


async def _done(call: Call[OfUser], user_id: str, one: ParsedCommand) -> replies.Acted:
    """One that is refused keeps no other from being done, and none that were done from being told."""
    stored = await _find(call, user_id, one.ref or "")
    if stored is None:
        return _refused(one, task_not_found())
    command = CONTROL[one.command](user_id=user_id, task_id=stored.task.id, actor=call.principal.actor)
    try:
        done, written = await call.hub.ask(command)
    except Unavailable as unavailable:
        code = Refusal(unavailable.code)
        return _refused(one, RequestRefused(code, f"{PROBLEMS[code].title}."), stored)
    if isinstance(done, Refused):
        return _refused(one, done, stored)
    assert isinstance(done, Done), "only a submission is answered otherwise"
    heirs = await call.hub.read(lambda reader: reader.known(user_id=user_id, ids=done.also, refs=(), keys=()).tasks)
    also = tuple(heirs[task_id].ref for task_id in done.also if task_id in heirs)
    after = written.get(stored.task.id, stored).task
    is_stopping = one.command is ChatCommand.CANCEL and after.status in HELD
    return replies.Acted(command=one.command, ref=after.ref, ok=True, is_stopping=is_stopping, also=also)


async def _task_status(call: Call[OfUser], user_id: str, answer: _Answer, one: ParsedCommand) -> None:
    stored = await _find(call, user_id, one.ref or "")
    if stored is None:
        told, language = _refused(one, task_not_found()), answer.parsed.language
        answer.lines.append(replies.acted(language, told))
        detail = replies.detail_of(language, told)
        answer.commands.append(CommandAnswer(command=one.command, ref=one.ref, ok=False, detail=detail))
        return
    because = None
    if stored.task.status not in ENDED:
        found = await why_of(call.hub, stored)
        because = None if found is None else _because(answer.parsed.language, found)
    refs = await call.hub.read(lambda reader: chat_facts.refs_of(reader, user_id, [stored.task]))
    facts = chat_facts.task_facts(stored, refs, call.hub.now_ms(), because=because)
    answer.lines.append(replies.task_status(answer.parsed.language, facts))
    answer.commands.append(CommandAnswer(command=one.command, ref=one.ref, ok=True))


def _because(language: Language, found: Why) -> replies.Because | None:
    """What runs has no reason, only a summary; and that is in English."""
    first = next(iter(found.reasons), None)
    if first is None:
        return replies.Because(found.summary) if language is Language.ENGLISH else None
    return replies.Because(found.summary, first.code, first.used, first.limit)


async def _queue_status(
    call: Call[OfUser], user_id: str, answer: _Answer, one: ParsedCommand, views: list[QueueView]
) -> None:
    if answer.tasks or answer.commands:
        # What was just done is to be seen in it.
        views = await call.hub.queues(user_id)
    shown = [view for view in views if one.queue in (None, view.name)]
    found = await call.hub.read(lambda reader: chat_facts.standing(reader, user_id, one.queue))
    facts = chat_facts.queue_facts(shown, found, call.hub.now_ms())
    answer.lines.append(replies.queue_status(answer.parsed.language, facts))
    answer.commands.append(CommandAnswer(command=one.command, queue=one.queue, ok=True))
