"""What the gateway needs of the hub it serves. The composition root hands it in.

Everything that comes back from here is on disk already: `ask` answers after its commit, `read` reads
committed rows, `bus` carries released events. The gateway parses, authenticates and translates; it decides
nothing and keeps nothing that matters.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from taskyard.core.changes import KeyRecord, UserRecord
from taskyard.core.commands import Command, SubmitTasks
from taskyard.core.effects import Answer, Signal
from taskyard.core.forecast import Forecast
from taskyard.core.idle import Overview
from taskyard.core.settings import Settings
from taskyard.core.why import Why
from taskyard.gateway.figures import Figures
from taskyard.gateway.views import (
    BreakerView,
    DaemonView,
    DeliveryView,
    HookView,
    HubView,
    NotificationView,
    ProgressView,
    QueueView,
    Receiver,
    ScheduleView,
    TemplateView,
    UsageView,
)
from taskyard.store.port import Identity, Numbered, Reader, StoredTask
from taskyard.store.rewind import Missing
from taskyard.vocabulary.notices import DeliveryStatus

T = TypeVar("T")

Answered = tuple[Answer, dict[str, StoredTask]]
"""An answer, with the tasks that the very commit wrote which it was given after."""


RETRY_AFTER_S: Final = 1
"""When to ask again of a hub that cannot answer now, where nobody knows better."""


class Unavailable(Exception):
    """The hub cannot answer now: `OVERLOADED`, `STORE_UNAVAILABLE`, `OUTCOME_UNKNOWN` or `NO_LEADER`."""

    def __init__(self, code: str, retry_after_s: int) -> None:
        super().__init__(code)
        self.code = code
        self.retry_after_s = retry_after_s


class Directory(Protocol):
    """Users and keys as committed; changes show here only after their commit."""

    def key_by_hash(self, digest: str) -> KeyRecord | None: ...

    def user(self, user_id: str) -> UserRecord | None: ...

    def user_by_name(self, name: str) -> UserRecord | None: ...

    def users(self) -> list[UserRecord]: ...

    def keys_of(self, user_id: str) -> list[KeyRecord]: ...

    def key(self, key_id: str) -> KeyRecord | None: ...


class Session(Protocol):
    """One daemon's socket, as the hub sees it. Never blocks: frames are queued, bounded."""

    id: int

    def send(self, messages: list[bytes]) -> None:
        """Encoded messages, in order. A daemon that does not read 16 MiB of them is cut off."""

    def close(self, code: int, reason: str) -> None: ...

    def rejoin(self) -> None:
        """Another hub leads now: have the daemon say `hello` again.

        Only of an attached session, and once the old leader's effects reach it no more. What the daemon says before
        its `hello` is dropped: it was meant for the old leader, and is told anew after the welcome.
        """


class Subscriber(Protocol):
    """One event reader. `offer` never blocks; a reader that falls behind is cut."""

    user_id: str | None
    """None: an admin who watches everything."""

    def offer(self, events: list[Numbered]) -> None: ...

    def lose(self) -> None:
        """Another hub leads now, and what happened meanwhile went by: it has to come anew and read what it missed."""


class Damage(Protocol):
    """The damaged records that this hub has met."""

    count: int

    def note(self, what: str) -> None:
        """One was shown as damaged instead of being raised."""


class Hub(Protocol):
    """The door to the hub."""

    @property
    def damage(self) -> Damage: ...

    @property
    def identity(self) -> Identity:
        """`seq` is the newest committed one."""

    @property
    def missing(self) -> Missing | None:
        """Commits that this yard's database lacks, so that no hub may lead; None: none are known."""

    @property
    def settings(self) -> Settings: ...

    @property
    def directory(self) -> Directory: ...

    async def ask(self, command: Command) -> Answered:
        """Once committed. Raises `Unavailable`, or `RecordDamaged` if it needs a damaged record of the past."""

    async def submit(self, command: SubmitTasks) -> tuple[Answered, Forecast | None]:
        """As `ask`; with where the task stands and when it will presumably start, if it is one and waits."""

    def tell(self, command: Command) -> None:
        """From a daemon's socket: nobody waits, effects come through its session."""

    @property
    def backlog(self) -> int:
        """What was told and waits to be decided, as far as this process knows."""

    async def read(self, look: Callable[[Reader], T]) -> T:
        """Run `look` on a reading thread. Raises `RecordDamaged` if what it needs is damaged, and is of the past."""

    def attach(self, session: Session) -> None:
        """Before the first `tell` of a socket: where its effects go."""

    def detach(self, session: Session) -> None: ...

    def subscribe(self, subscriber: Subscriber) -> None:
        """Offered is what is released once `caught_up` has returned, and perhaps something before."""

    def unsubscribe(self, subscriber: Subscriber) -> None: ...

    # Below: the live state, which only the hub that leads has. A gateway of another one asks it over the link,
    # so each of these may take a round trip and raise `Unavailable`; a page should need one of them, not one a row.

    async def takes_work(self) -> bool: ...

    async def caught_up(self) -> None:
        """Returns when whoever has subscribed will miss nothing that is committed from here on.

        Then the directory, too, has everybody whose making was answered before this was asked.
        """

    async def daemons(self) -> list[DaemonView]: ...

    async def why(self, task_id: str, names: Mapping[str, str]) -> Why | None:
        """Why a task does not run; None if it is in the live state no longer. `names` are refs by id."""

    async def forecast(self, task_id: str) -> Forecast | None:
        """Where a queued task stands and when it will presumably start; None for others."""

    async def idle_because(self, daemon_ids: Sequence[str], viewer: str | None) -> dict[str, str]:
        """Why daemons are given nothing more, from what this user may see; None: an admin, who sees everything.

        Those that are full or unknown are not in it.
        """

    async def overview(self, user_id: str) -> Overview: ...

    async def heirs(self, task_ids: Sequence[str]) -> list[str]:
        """All that a cancellation of these tasks would cancel besides, nearest first."""

    async def ties(self, task_ids: Sequence[str]) -> list[str]:
        """Open tasks that depend on one of these or are its sub-tasks; of very many, some."""

    async def queues(self, user_id: str | None) -> list[QueueView]:
        """As this user sees them; None: an admin, who sees everybody's."""

    async def breakers(self, user_id: str | None) -> list[BreakerView]:
        """Those of a user that count something or hold something back, the newest failure first; None: everybody's."""

    async def breaker(self, user_id: str, type: str) -> BreakerView:
        """One of them; what never failed is closed."""

    async def schedules(self, user_id: str | None) -> list[ScheduleView]:
        """A user's, the newest first; None: everybody's."""

    async def schedule(self, user_id: str, schedule: str) -> ScheduleView | None:
        """One of a user's, by id or name."""

    async def hooks(self, user_id: str | None) -> list[HookView]:
        """Those of a user, newest first; None: everybody's."""

    async def receiver(self, hook_id: str) -> Receiver | None:
        """The webhook that a delivery is for, whoever's it is."""

    async def templates(self, user_id: str | None, names: Sequence[str] | None) -> list[TemplateView]:
        """A user's by name, or None: those of all users; of `names`, if they are said, those that there are."""

    async def usage(self, user_id: str) -> UsageView: ...

    async def usages(self, user_ids: Sequence[str]) -> dict[str, UsageView]:
        """Of those among them that there are."""

    async def notifications(self, user_id: str) -> list[NotificationView]:
        """A user's, the newest first."""

    async def deliveries(
        self,
        user_id: str,
        notification_id: str,
        status: DeliveryStatus | None,
        before: str | None,
        limit: int,
    ) -> list[DeliveryView] | None:
        """The newest that are older than the one of this id; None: there is no such notification of this user's."""

    async def delivery(self, user_id: str, notification_id: str, delivery_id: str) -> DeliveryView | None: ...

    async def figures(self) -> Figures:
        """What it counts and measures, of everybody."""

    async def progress(self, task_ids: Sequence[str]) -> dict[str, ProgressView]:
        """The last word of those that said one in the attempt that runs."""

    async def hubs(self) -> list[HubView]:
        """Those of this yard that were there within a day, and which of them leads."""

    async def pressure(self, user_id: str) -> Signal:
        """How long the line is for this user, who must exist."""

    async def redeem(self, ticket_id: str, expires_at: int) -> bool:
        """True for the first who shows it, of all gateways. Whose epoch it is of, the gateway looks at afterwards."""

    async def ended(self, task_id: str, wait_s: float) -> None:
        """Returns when the task has ended or the time is up."""

    def mint(self) -> str:
        """A new id: UUIDv7, in order."""

    def mint_secret(self) -> str:
        """256 random bits as 43 url-safe characters: keys."""

    def now_ms(self) -> int:
        """The wall clock."""

    def attempt_of(self, token: str) -> tuple[str, int] | None:
        """The (task id, attempt) a token was made for; None if it is not ours."""

    def seal(self, purpose: str, text: str) -> str:
        """For a browser to keep: legible, but every hub of the yard notices a change, and only they can make one."""

    def unseal(self, purpose: str, sealed: str) -> str | None:
        """The text that was sealed for this purpose; None if it is not ours."""
