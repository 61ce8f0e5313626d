"""Users, keys and the audit trail: what admins do."""

from typing import TypeVar

import msgspec

from taskyard.core.changes import KeyRecord, UserRecord
from taskyard.core.told import KEEP
from taskyard.core.yard_commands import ChangeUser, CreateKey, CreateUser, RevokeKey
from taskyard.gateway.auth import KEY_PREFIX, hash_of
from taskyard.gateway.call import Call, Empty, Reply, RequestRefused
from taskyard.gateway.everybody import usages_of
from taskyard.gateway.news import key_of, user_called
from taskyard.gateway.rest.plans import status_of
from taskyard.gateway.rest.tasks import ask
from taskyard.gateway.views import UsageView
from taskyard.vocabulary import Refusal
from taskyard.wire.fields import instant_of, instant_or_none, ms_of
from taskyard.wire.people import (
    IssuedKey,
    KeyAnswer,
    MeAnswer,
    NewKey,
    NewUser,
    Overrides,
    UserAnswer,
    UserChange,
)
from taskyard.wire.tasks import OkAnswer

Q = TypeVar("Q")


class UsersQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    usage: bool = False
    """With what each has running and waiting, and has used this month."""


async def me(call: Call[Empty], _body: Empty) -> Reply:
    user = await _user(call, call.principal.user_id)
    scopes = sorted(call.principal.scopes)
    return Reply(MeAnswer(id=user.id, name=user.name, plan=user.plan, scopes=scopes, profile=call.hub.settings.profile))


async def list_users(call: Call[UsersQuery], _body: Empty) -> Reply:
    users = sorted(call.hub.directory.users(), key=lambda user: (user.created_at, user.id), reverse=True)
    usages = await usages_of(call.hub, [user.id for user in users]) if call.query.usage else {}
    return Reply([_user_answer(user, usages.get(user.id)) for user in users])


async def create_user(call: Call[Empty], body: NewUser) -> Reply:
    user_id = f"u_{call.hub.mint()}"
    overrides = {name: value for name, value in _overrides(body.overrides).items() if value is not None}
    await ask(
        call,
        CreateUser(
            user_id=user_id,
            name=body.name,
            actor=call.principal.actor,
            plan=body.plan,
            overrides=overrides,
        ),
    )
    return Reply(_user_answer(await _user(call, user_id)), status=201)


async def change_user(call: Call[Empty], body: UserChange) -> Reply:
    user = await _user(call, call.id)
    await ask(
        call,
        ChangeUser(
            user_id=user.id,
            actor=call.principal.actor,
            name=KEEP if isinstance(body.name, msgspec.UnsetType) else body.name,
            plan=KEEP if isinstance(body.plan, msgspec.UnsetType) else body.plan,
            overrides=_overrides(body.overrides),
        ),
    )
    return Reply(_user_answer(await _user(call, user.id)))


async def list_keys(call: Call[Empty], _body: Empty) -> Reply:
    user = await _user(call, call.id)
    keys = sorted(call.hub.directory.keys_of(user.id), key=lambda key: (key.created_at, key.id), reverse=True)
    return Reply([_key_answer(key) for key in keys])


async def create_key(call: Call[Empty], body: NewKey) -> Reply:
    user = await _user(call, call.id)
    secret = f"{KEY_PREFIX}{call.hub.mint_secret()}"
    command = CreateKey(
        key_id=f"k_{call.hub.mint()}",
        user_id=user.id,
        name=body.name,
        hash=hash_of(secret),
        scopes=tuple(dict.fromkeys(body.scopes)),
        actor=call.principal.actor,
        max_priority=body.max_priority,
        priority_scale=body.priority_scale,
        sources=None if body.sources is None else tuple(dict.fromkeys(body.sources)),
        expires_at=None if body.expires_at is None else ms_of(body.expires_at),
    )
    await ask(call, command)
    issued = IssuedKey(
        id=command.key_id,
        key=secret,
        name=body.name,
        scopes=list(command.scopes),
        max_priority=body.max_priority,
        priority_scale=body.priority_scale,
        sources=body.sources,
        expires_at=body.expires_at,
    )
    return Reply(issued, status=201)


async def revoke_key(call: Call[Empty], _body: Empty) -> Reply:
    key = await key_of(call.hub, call.id)
    if key is None:
        raise RequestRefused(Refusal.KEY_NOT_FOUND, "There is no such key.")
    await ask(call, RevokeKey(key_id=key.id, actor=call.principal.actor))
    return Reply(OkAnswer())


async def _user(call: Call[Q], user_id: str) -> UserRecord:
    user = await user_called(call.hub, user_id)
    if user is None:
        raise RequestRefused(Refusal.USER_NOT_FOUND, "There is no such user.")
    return user


def _overrides(overrides: Overrides | None) -> dict[str, int | float | None]:
    """What was said; what was not is left as it is."""
    given: dict[str, int | float | None] = {}
    for name in Overrides.__struct_fields__:
        value = msgspec.UNSET if overrides is None else getattr(overrides, name)
        if value is not msgspec.UNSET:
            given[name] = value
    return given


def _user_answer(user: UserRecord, usage: UsageView | None = None) -> UserAnswer:
    return UserAnswer(
        id=user.id,
        name=user.name,
        plan=user.plan,
        overrides=dict(user.overrides),
        created_at=instant_of(user.created_at),
        usage=None if usage is None else status_of(usage),
    )


def _key_answer(key: KeyRecord) -> KeyAnswer:
    return KeyAnswer(
        id=key.id,
        name=key.name,
        user_id=key.user_id,
        scopes=list(key.scopes),
        max_priority=key.max_priority,
        priority_scale=key.priority_scale,
        sources=None if key.sources is None else list(key.sources),
        created_at=instant_of(key.created_at),
        expires_at=instant_or_none(key.expires_at),
        revoked_at=instant_or_none(key.revoked_at),
    )
