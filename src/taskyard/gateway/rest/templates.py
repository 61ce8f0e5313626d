"""Templates: reusable definitions of tasks, which submissions, schedules and webhooks name."""

from typing import Final

import msgspec
from msgspec import Raw, Struct

from taskyard.core.templates import not_found
from taskyard.core.yard_commands import DeleteTemplate, PutTemplate
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused, refuse, refuse_fields
from taskyard.gateway.names import check_name
from taskyard.gateway.priority_scale import fault_on_scale
from taskyard.gateway.rest.tasks import ask
from taskyard.gateway.sizes import bytes_max
from taskyard.gateway.task_templates import Room, new_template, read_template, write_template
from taskyard.gateway.views import TemplateView
from taskyard.vocabulary import PriorityScale
from taskyard.wire.fields import NAME_CHARS_MAX, NULL, instant_of
from taskyard.wire.problems import FieldError
from taskyard.wire.tasks import OkAnswer
from taskyard.wire.templates import NewTemplate, TemplateAnswer, TemplateChange

_encode: Final = msgspec.json.Encoder().encode


class _Priority(Struct):
    priority: object


async def list_templates(call: Call[OfUser], _body: Empty) -> Reply:
    views = await call.hub.templates(call.users(call.query.user), None)
    return Reply([_answer(view) for view in views])


async def show(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply(_answer(await _view(call, call.user_id(call.query.user), call.id)))


async def create(call: Call[OfUser], body: NewTemplate) -> Reply:
    return Reply(await _put(call, body.name, body, is_new=True), status=201)


async def put(call: Call[OfUser], body: TemplateChange) -> Reply:
    if len(call.id) > NAME_CHARS_MAX:
        raise refuse_fields([FieldError("name", f"should have at most {NAME_CHARS_MAX} characters")])
    return Reply(await _put(call, call.id, body, is_new=False))


async def delete(call: Call[OfUser], _body: Empty) -> Reply:
    await ask(call, DeleteTemplate(call.user_id(call.query.user), call.id, call.principal.actor))
    return Reply(OkAnswer())


async def _put(call: Call[OfUser], name: str, said: TemplateChange, *, is_new: bool) -> TemplateAnswer:
    user_id = call.user_id(call.query.user)
    check_name(name)
    template = new_template(name, said, Room(bytes_max(call.door.size, is_batch=False)))
    if isinstance(template, RequestRefused):
        raise template
    _put_on_scale(template.content.task, call.principal.priority_scale)
    command = PutTemplate(user_id, name, write_template(template), call.principal.actor, is_new)
    await ask(call, command)
    return _answer(await _view(call, user_id, name))


def _put_on_scale(task: dict[str, Raw], scale: PriorityScale | None) -> None:
    """A number means what it means to the key that writes it down, whichever key names the template later."""
    priority = _Priority(msgspec.json.decode(task.get("priority", NULL)))
    faults = fault_on_scale(priority, scale)
    if faults:
        raise refuse_fields(faults, below="task")
    if priority.priority is not None:
        task["priority"] = Raw(_encode(priority.priority))


async def _view(call: Call[OfUser], user_id: str, name: str) -> TemplateView:
    views = await call.hub.templates(user_id, [name])
    if not views:
        raise refuse(not_found(name))
    return views[0]


def _answer(view: TemplateView) -> TemplateAnswer:
    template = read_template(view.name, view.content)
    return TemplateAnswer(
        name=view.name,
        user_id=view.user_id,
        task=Raw(_encode(template.content.task)),
        defaults=template.content.defaults,
        places=template.keys,
        created_at=instant_of(view.created_at),
        changed_at=instant_of(view.changed_at),
    )
