"""Inbound webhooks: their owners set them up, and whoever knows the secret delivers.

A delivery has no caller that is known: its signature stands for one. So it is looked at before anything else of the
body is, and what is wrong with it is told to the log alone. Outside, a hook that does not exist and a signature that
does not fit look the same.
"""

import logging
from typing import Final

from msgspec import Raw, UnsetType

from taskyard.core.commands import SubmitTasks
from taskyard.core.effects import Refused, Submitted
from taskyard.core.task import ms_of
from taskyard.core.told import KEEP
from taskyard.core.yard_commands import ChangeHook, CreateHook, DeleteHook, RotateHook
from taskyard.gateway import deliveries, hook_templates
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused, refuse, refuse_fields
from taskyard.gateway.deliveries import Delivery
from taskyard.gateway.rest.filling import filled
from taskyard.gateway.rest.tasks import ask
from taskyard.gateway.signatures import Fault, Window, fault_in, new_secret, objection_to_secret
from taskyard.gateway.sizes import oversize_of
from taskyard.gateway.translate import draft_of
from taskyard.gateway.views import HookView, Receiver
from taskyard.vocabulary import HookProvider, Refusal, SourceType
from taskyard.wire.fields import instant_of, instant_or_none
from taskyard.wire.hooks import (
    HookAnswer,
    HookChange,
    HookDeliveryAnswer,
    HookFields,
    HookRotation,
    HookTask,
    HookTemplate,
    IssuedHook,
    NewHook,
)
from taskyard.wire.problems import FieldError
from taskyard.wire.submission import NO_TEMPLATE, faults_of
from taskyard.wire.tasks import OkAnswer

UNTRUSTED: Final = "This is not signed as a delivery to this hook must be."
UNTIMELY: Final = (
    "The signature is right, and its time is not: it was made too long ago, or the sender's clock is wrong."
)
UNREADABLE: Final = "a delivery was refused: what was signed cannot be read"
UNTAKEN: Final = "a delivery was refused: the hub did not take its task"
log = logging.getLogger(__name__)


# What owners do.


async def list_hooks(call: Call[OfUser], _body: Empty) -> Reply:
    views = await call.hub.hooks(call.users(call.query.user))
    return Reply([_answer(call, view) for view in views])


async def show(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply(_answer(call, await _view(call, call.user_id(call.query.user), call.id)))


async def create(call: Call[OfUser], body: NewHook) -> Reply:
    user_id = call.user_id(call.query.user)
    _check_source(call)
    secret = _secret(call, body.provider, body.secret)
    command = CreateHook(
        hook_id=f"wh_{call.hub.mint()}",
        user_id=user_id,
        name=body.name,
        provider=body.provider,
        secret=secret,
        template=await _template(call, user_id, body.template),
        actor=call.principal.actor,
        max_priority=body.max_priority,
        ceiling=call.principal.max_priority,
        events=_events(body.events),
    )
    await ask(call, command)
    return Reply(_issued(call, await _view(call, user_id, command.hook_id), secret), status=201)


async def change(call: Call[OfUser], body: HookChange) -> Reply:
    user_id = call.user_id(call.query.user)
    _check_source(call)
    command = ChangeHook(
        hook_id=call.id,
        user_id=user_id,
        actor=call.principal.actor,
        name=KEEP if isinstance(body.name, UnsetType) else body.name,
        template=KEEP if isinstance(body.template, UnsetType) else await _template(call, user_id, body.template),
        max_priority=KEEP if isinstance(body.max_priority, UnsetType) else body.max_priority,
        ceiling=call.principal.max_priority,
        events=KEEP if isinstance(body.events, UnsetType) else _events(body.events),
    )
    await ask(call, command)
    return Reply(_answer(call, await _view(call, user_id, call.id)))


async def rotate(call: Call[OfUser], body: HookRotation) -> Reply:
    user_id = call.user_id(call.query.user)
    _check_source(call)
    view = await _view(call, user_id, call.id)
    secret = _secret(call, view.provider, body.secret)
    command = RotateHook(
        hook_id=view.id,
        user_id=user_id,
        secret=secret,
        actor=call.principal.actor,
        overlap_ms=None if body.overlap is None else ms_of(body.overlap),
        ceiling=call.principal.max_priority,
    )
    await ask(call, command)
    return Reply(_issued(call, await _view(call, user_id, view.id), secret))


async def delete(call: Call[OfUser], _body: Empty) -> Reply:
    user_id = call.user_id(call.query.user)
    await ask(call, DeleteHook(hook_id=call.id, user_id=user_id, actor=call.principal.actor))
    return Reply(OkAnswer())


def _check_source(call: Call[OfUser]) -> None:
    """A key that may not submit as a webhook must not have one do it."""
    sources = call.principal.sources
    if sources is not None and SourceType.WEBHOOK not in sources:
        raise RequestRefused(Refusal.FORBIDDEN, f"This key may not submit as {SourceType.WEBHOOK}.")


def _secret(call: Call[OfUser], provider: HookProvider, given: str | None) -> str:
    secret = new_secret(provider, call.hub.mint_secret()) if given is None else given
    objection = objection_to_secret(provider, secret)
    if objection is not None:
        fault = FieldError("secret", objection)
        raise RequestRefused(Refusal.INVALID_INPUT, f"`{fault.path}`: {fault.message}", errors=(fault,))
    return secret


def _events(given: list[str]) -> tuple[str, ...]:
    """Without repeats. One with a space in it is most likely two, or badly copied, and would never come."""
    for index, event in enumerate(given):
        if not event or any(letter.isspace() for letter in event):
            fault = FieldError(f"events[{index}]", "an event's name is one word, such as push or pull_request.opened")
            raise RequestRefused(Refusal.INVALID_INPUT, f"`{fault.path}`: {fault.message}", errors=(fault,))
    return tuple(dict.fromkeys(given))


async def _template(call: Call[OfUser], user_id: str, said: HookTask) -> str:
    """As it is kept, if a task could be made of it. A template that it names is filled now, once for all deliveries."""
    template = await filled(call, user_id, said, HookTemplate, at="template") or _written_out(said)
    task = hook_templates.unfilled(template)
    for code, found in (
        (Refusal.INVALID_INPUT, hook_templates.misplaced(template)),
        (Refusal.INVALID_INPUT, faults_of(task)),
        (Refusal.TOO_LARGE, oversize_of(task, call.door.size)),
    ):
        if found:
            raise refuse_fields(found, code, below="template")
    return hook_templates.write_template(template)


def _written_out(said: HookTask) -> HookTemplate:
    """It names no template, so it says everything itself."""
    if isinstance(said.input, UnsetType):
        raise refuse_fields([FieldError("input", "is needed")], below="template")
    if not isinstance(said.set, UnsetType):
        raise refuse_fields([FieldError("set", NO_TEMPLATE)], below="template")
    others = {name: getattr(said, name) for name in HookFields.__struct_fields__}
    return HookTemplate(input=said.input, **others)


async def _view(call: Call[OfUser], user_id: str, hook_id: str) -> HookView:
    views = await call.hub.hooks(user_id)
    found = next((view for view in views if view.id == hook_id), None)
    if found is None:
        raise RequestRefused(Refusal.HOOK_NOT_FOUND, "There is no such hook of yours.")
    return found


def _answer(call: Call[OfUser], view: HookView) -> HookAnswer:
    return HookAnswer(
        id=view.id,
        url=_url(call, view.id),
        name=view.name,
        user_id=view.user_id,
        provider=view.provider,
        template=Raw(view.template),
        max_priority=view.max_priority,
        events=list(view.events),
        created_at=instant_of(view.created_at),
        previous_secret_until=instant_or_none(view.previous_until),
        deliveries=view.deliveries,
        last_delivery_at=instant_or_none(view.last_delivery_at),
    )


def _issued(call: Call[OfUser], view: HookView, secret: str) -> IssuedHook:
    shown = _answer(call, view)
    return IssuedHook(**{name: getattr(shown, name) for name in HookAnswer.__struct_fields__}, secret=secret)


def _url(call: Call[OfUser], hook_id: str) -> str:
    """Under the name by which the caller reached this hub."""
    scheme = "https" if call.door.settings.auth.secure_cookie else "http"
    host = call.headers.get(b"host", b"").decode("latin-1")
    return f"{scheme}://{host}/api/v1/hooks/{hook_id}"


# Deliveries.


async def deliver(call: Call[Empty], body: bytes) -> Reply:
    receiver = await call.hub.receiver(call.id)
    fault = _fault(call, receiver, body)
    if receiver is None or fault is not None:
        _tell(call, receiver, fault or Fault.NO_HOOK)
        raise RequestRefused(
            Refusal.BAD_SIGNATURE, UNTIMELY if fault in (Fault.OLD, Fault.AHEAD) else UNTRUSTED
        ) from None
    try:
        delivery = deliveries.read(receiver.provider, call.scope["headers"], body)
    except RequestRefused:
        _tell(call, receiver, UNREADABLE)
        raise
    if delivery.challenge is not None:
        return Reply(HookDeliveryAnswer(challenge=delivery.challenge))
    if delivery.is_greeting or not delivery.is_among(receiver.events):
        answer = HookDeliveryAnswer(task_id=None, deduplicated=False)
    else:
        answer = await _submit(call, receiver, delivery)
    if delivery.is_command:
        return Reply(b"", media_type="text/plain")
    return Reply(answer, status=202)


def _fault(call: Call[Empty], receiver: Receiver | None, body: bytes) -> Fault | None:
    numbers = call.hub.settings.hooks
    window = Window(call.hub.now_ms(), numbers.old_s_max, numbers.ahead_s_max)
    provider, secrets = (None, ()) if receiver is None else (receiver.provider, receiver.secrets)
    return fault_in(provider, secrets, call.scope["headers"], body, window)


async def _submit(call: Call[Empty], receiver: Receiver, delivery: Delivery) -> HookDeliveryAnswer:
    key = delivery.key(receiver.id)
    template = hook_templates.read_template(receiver.template)
    most = call.door.size.input
    task = hook_templates.filled(
        template, delivery, hook_id=receiver.id, provider=receiver.provider, input_bytes_max=most
    )
    draft = draft_of(task, id=call.hub.mint(), user_id=receiver.user_id, settings=call.hub.settings, key=key)
    # The delivery decides what is the same, not what it holds: sent again it may say how often it was sent, and its
    # hook's template may have changed meanwhile.
    draft.digest = key
    command = SubmitTasks(user_id=receiver.user_id, drafts=[draft], ceiling=receiver.max_priority, hook_id=receiver.id)
    answer, _ = await call.hub.ask(command)
    if isinstance(answer, Refused):
        _tell(call, receiver, UNTAKEN, code=answer.code)
        raise refuse(answer)
    assert isinstance(answer, Submitted), "a submission is answered with what was submitted"
    return HookDeliveryAnswer(task_id=answer.ids[0], deduplicated=answer.deduplicated[0])


def _tell(call: Call[Empty], receiver: Receiver | None, what: str, *, code: str | None = None) -> None:
    """One line, with nothing in it that anybody sent; no more of them than a log can bear."""
    hook_id = None if receiver is None else receiver.id
    untold = call.door.refused_deliveries.untold(hook_id, what, call.hub.now_ms())
    if untold is not None:
        log.warning(what, extra={"hook_id": hook_id, "code": code, "untold": untold or None})
