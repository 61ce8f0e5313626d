"""What hubs say to each other. Both ends run the same code or one version apart: fields are added, never changed.

Commands, answers and views travel as the types they are everywhere else; there is no second form of them.
"""

from typing import Final

import msgspec
from msgspec import Raw, Struct

from taskyard.core.changes import KeyRecord, UserRecord
from taskyard.core.commands import Command
from taskyard.core.effects import Answer
from taskyard.core.forecast import Forecast
from taskyard.core.settings import Settings
from taskyard.store.port import Identity, Numbered, StoredTask
from taskyard.store.rewind import Sighting


class Message(Struct, tag=True, tag_field="m", omit_defaults=True):
    """What every message is."""


# From a gateway to the leader.


class Introduce(Message):
    """The first: which gateway this is. An older link of the same one is over, with all that is still on its way.

    A leader greets once it has judged what the gateway's hub remembers: not if that is not in its log's history.
    """

    gateway: str
    sightings: list[Sighting] = []


class AskSeen(Message):
    """In place of the first: what has your hub seen of this yard? Also answered by one that does not lead."""


class Ask(Message):
    """A command that somebody waits for. `request` is the same when it is asked again of the next leader."""

    id: int
    request: str
    command: Command
    again: bool = False


class Tell(Message):
    """What a daemon said on a socket of the gateway's."""

    command: Command


class Attach(Message):
    session: int


class Detach(Message):
    session: int


class Watch(Message):
    """Whether anybody at the gateway follows events."""

    wanted: bool


class Mirror(Message):
    """From here on the gateway wants to know what every commit writes into the hot table: it stands by to lead."""


class View(Message):
    """A look at the leader's live state: one of `views.py`, with its arguments."""

    id: int
    name: str
    arguments: Raw


class Drop(Message):
    """Whoever waited for this has gone."""

    id: int


FromGateway = Introduce | AskSeen | Ask | Tell | Attach | Detach | Watch | Mirror | View | Drop


# From the leader to a gateway.


class Greeting(Message):
    """The first: who leads, and what a gateway has to know to let people in."""

    identity: Identity
    settings: Settings
    users: list[UserRecord]
    keys: list[KeyRecord]


class Remembers(Message):
    """What this hub has seen, and what others told it that a log was found to lack."""

    sightings: list[Sighting]


class Known(Message):
    """Users and keys that a commit changed."""

    users: list[UserRecord]
    keys: list[KeyRecord]


class Adopt(Message):
    settings: Settings


class Answered(Message):
    id: int
    answer: Answer
    tasks: dict[str, StoredTask]
    forecast: Forecast | None = None


class Unanswered(Message):
    """`Unavailable`, or `RecordDamaged` with its message in `detail`."""

    id: int
    code: str
    retry_after_s: int
    detail: str = ""


class Failed(Message):
    """The leader made a mistake; its log says which."""

    id: int


class Shown(Message):
    id: int
    value: Raw


class Send(Message):
    session: int
    messages: list[bytes]


class Close(Message):
    session: int
    code: int
    reason: str


class Happened(Message):
    events: list[Numbered]


class Wrote(Message):
    """What a commit wrote into the hot table: tasks as they now are, and those that left it."""

    seq: int
    records: list[tuple[str, bytes]]
    gone: list[str]


class Reached(Message):
    """The newest commit that what came before this is of."""

    seq: int
    batch_id: str = ""


FromLeader = (
    Greeting
    | Remembers
    | Known
    | Adopt
    | Answered
    | Unanswered
    | Failed
    | Shown
    | Send
    | Close
    | Happened
    | Wrote
    | Reached
)

encode_into: Final = msgspec.msgpack.Encoder().encode_into
decode_from_gateway: Final = msgspec.msgpack.Decoder(list[FromGateway]).decode
decode_from_leader: Final = msgspec.msgpack.Decoder(list[FromLeader]).decode
