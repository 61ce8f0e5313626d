"""Templates: reusable definitions of tasks, which their owner names instead of writing the task out.

What a template holds is checked and filled at the edge, and what comes out is submitted like any task. So the core
keeps templates, and no rule about tasks knows of them.
"""

from typing import Final

from msgspec.json import Decoder

from taskyard.core.changes import TemplateRecord
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.state import State, Turn
from taskyard.core.yard_commands import DeleteTemplate, PutTemplate
from taskyard.vocabulary import Keeps, Refusal

PER_USER_MAX: Final = 100
NO_USER: Final = Refused(Refusal.USER_NOT_FOUND, "There is no such user.")
_record: Final = Decoder(TemplateRecord)


def templates_of(state: State, user_id: str | None) -> list[TemplateRecord]:
    """A user's templates by name; None: those of all users."""
    users = state.users.values() if user_id is None else (state.users[user_id],)
    found = (template for user in users for template in user.templates.values())
    return sorted(found, key=lambda template: (template.name, template.user_id))


def not_found(name: str) -> Refused:
    """The same for a template that is another's and one that never was."""
    return Refused(
        Refusal.TEMPLATE_NOT_FOUND, f"You have no template {name}; look its name up in your list of templates."
    )


def put(turn: Turn, command: PutTemplate) -> None:
    refusal = _objection(turn.state, command)
    if refusal is not None:
        turn.effects.append(Reply(command.reply_to, refusal))
        return
    templates, now_ms = turn.state.users[command.user_id].templates, turn.now.wall
    old = templates.get(command.name)
    created_at = now_ms if old is None else old.created_at
    new = TemplateRecord(command.user_id, command.name, command.content, created_at, now_ms)
    templates[new.name] = turn.state.ledger.kept[Keeps.TEMPLATE, _key(new)] = new
    action = "template.create" if old is None else "template.change"
    turn.audit(actor=command.actor, action=action, subject=_key(new), new=new.name)
    turn.effects.append(Reply(command.reply_to, Done()))


def _objection(state: State, command: PutTemplate) -> Refused | None:
    user, name = state.users.get(command.user_id), command.name
    if user is None:
        return NO_USER
    is_there = name in user.templates
    if is_there and command.is_new:
        detail = f"You have a template {name} already; choose another name, or change that one."
        return Refused(Refusal.NAME_TAKEN, detail, field="name")
    if not is_there and len(user.templates) >= PER_USER_MAX:
        detail = f"You have {PER_USER_MAX} templates, which is the most; delete one first."
        return Refused(Refusal.TOO_MANY_TEMPLATES, detail)
    return None


def delete(turn: Turn, command: DeleteTemplate) -> None:
    """Tasks and schedules that were made from it stay as they are."""
    user = turn.state.users.get(command.user_id)
    old = None if user is None else user.templates.pop(command.name, None)
    if old is None:
        turn.effects.append(Reply(command.reply_to, not_found(command.name)))
        return
    turn.state.ledger.kept[Keeps.TEMPLATE, _key(old)] = None
    turn.audit(actor=command.actor, action="template.delete", subject=_key(old), old=old.name)
    turn.effects.append(Reply(command.reply_to, Done()))


def _key(template: TemplateRecord) -> str:
    """An id of a user has no slash, so no two templates share a key."""
    return f"{template.user_id}/{template.name}"


def remember(state: State, _key: str, record: bytes) -> None:
    template = _record.decode(record)
    state.users[template.user_id].templates[template.name] = template
