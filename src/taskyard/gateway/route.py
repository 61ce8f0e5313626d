"""What a route is: who may call it, what it takes, what it answers and how it may refuse.

A route without a policy cannot be written down: the field has no default.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from taskyard.gateway.call import Call, Empty, Reply, Stream
from taskyard.gateway.duplicates import Shape, shape_of
from taskyard.vocabulary import Refusal, Scope

B = TypeVar("B")
Q = TypeVar("Q")


class TokenUse(Enum):
    """What a task's token opens."""

    NONE = "none"
    CALLBACK = "callback"
    """The callbacks of the very attempt it was made for."""
    SUBTASKS = "subtasks"
    """Making, reading and awaiting sub-tasks of its own task, while its attempt is current."""


class Policy(Struct, frozen=True, kw_only=True):
    """Who may call a route. An admin may call whatever a person may."""

    public: bool = False
    signed: bool = False
    """Open to whoever signs the body with a secret that both sides know; the handler sees to it."""
    keyed: bool = False
    """Open to whoever has a key in the body; the handler sees to it."""
    scopes: frozenset[Scope] = frozenset()
    token: TokenUse = TokenUse.NONE


PUBLIC: Final = Policy(public=True)
SIGNED: Final = Policy(public=True, signed=True)
KEYED: Final = Policy(public=True, keyed=True)
ANYONE: Final = Policy(scopes=frozenset(Scope))
READER: Final = Policy(scopes=frozenset({Scope.TASKS, Scope.AGENT, Scope.ADMIN}))
READER_OR_TOKEN: Final = Policy(scopes=READER.scopes, token=TokenUse.SUBTASKS)
OWNER: Final = Policy(scopes=frozenset({Scope.TASKS, Scope.ADMIN}))
ADMIN: Final = Policy(scopes=frozenset({Scope.ADMIN}))
ANYONE_OR_TOKEN: Final = Policy(scopes=ANYONE.scopes, token=TokenUse.CALLBACK)
ATTEMPT: Final = Policy(scopes=frozenset({Scope.DAEMON}), token=TokenUse.CALLBACK)


@dataclass(frozen=True, kw_only=True)
class Route(Generic[B, Q]):
    method: str
    path: str
    """With `{id}`, if at all, after the first name; one more name may follow before the last word."""
    policy: Policy
    handler: Callable[[Call[Q], B], Awaitable[Reply | Stream]]
    summary: str
    description: str = ""
    """What the summary has no room for, in sentences."""
    answer: Any
    """None: there is no body to be read."""
    status: int = 200
    again_status: int | None = None
    """Answered instead, mostly when all of it was there already."""
    again_when: str = "if nothing new was made"
    nothing_status: int | None = None
    """Answered instead, without a body, when there is nothing to give."""
    media_type: str = "application/json"
    body: type[B]
    """`bytes`: handed on as it came, since whoever signed it signed the bytes."""
    query: type[Q]
    is_batch: bool = False
    """Its body may be as large as any request; others have one task's worth, which is a frame."""
    salvage: Callable[[bytes], B | None] | None = None
    """What to make of a body that is not `body` after all; None: nothing."""
    refusals: tuple[Refusal, ...] = ()
    is_described: bool = True
    """Whether the OpenAPI document has it; what speaks a protocol of its own has its own documents."""

    @cached_property
    def empty_body(self) -> B | None:
        """What an absent body means; None if there must be one."""
        try:
            return self.body()
        except TypeError:
            return None

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[B]:
        return msgspec.json.Decoder(self.body)

    @cached_property
    def shape(self) -> Shape:
        """What of its body is read here, and not only carried."""
        return shape_of(self.body)

    @property
    def place(self) -> str:
        """Where requests find it: what stands between the id and the last word comes as a part of the id."""
        head, name, rest = self.path.partition("{id}/")
        return head + name + rest.rpartition("/")[2]


def get(
    path: str,
    handler: Callable[[Call[Q], Empty], Awaitable[Reply | Stream]],
    *,
    policy: Policy,
    query: type[Q],
    answer: Any,
    summary: str,
    description: str = "",
    media_type: str = "application/json",
    refusals: tuple[Refusal, ...] = (),
) -> Route[Empty, Q]:
    return Route(
        method="GET",
        path=path,
        policy=policy,
        handler=handler,
        summary=summary,
        description=description,
        answer=answer,
        media_type=media_type,
        body=Empty,
        query=query,
        refusals=refusals,
    )
