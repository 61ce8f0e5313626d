"""What a daemon's position proves of lost commits, and what a new era writes down."""

import pytest

from taskyard.core.daemon_commands import Held, JoinDaemon, Seen
from taskyard.core.effects import CloseSession, Contradicted, Done, Effect, Welcome
from taskyard.core.eras import Lack, Takeover
from taskyard.core.lookups import Lookup, commit_name, merge, missing
from taskyard.core.rewinds import LISTED_MAX
from taskyard.core.told import NOTHING, Known
from taskyard.core.yard_commands import NoteRewind
from taskyard.vocabulary import EPOCHS_PER_ERA, EventName, InventoryState
from tests.support.harness import HubHarness

A, B = "takeover a", "takeover b"


def harness(*takeovers: Takeover, epoch: int = 2) -> HubHarness:
    """A hub whose log has some commits, the first of them of its first epoch."""
    hub = HubHarness()
    hub.state.epoch = epoch
    hub.state.takeovers = takeovers or (Takeover(1, A, 0), Takeover(2, B, 0))
    return hub


def hello(hub: HubHarness, seen: Seen, *, batches: dict[int, str] | None = None, holds: int = 0) -> list[Effect]:
    """What a daemon's hello comes to, once its position has been looked up."""
    held = tuple(Held(f"t-{n}", 1, InventoryState.ENDED) for n in range(holds))
    command = JoinDaemon(7, "ann", "d-new", "boot", "mac-1", seen=seen, inventory=held)
    lookup = missing(hub.state, command)
    if lookup is not None:
        found = Known(batches=batches or {})
        command.known = merge(NOTHING, lookup, found)
        assert missing(hub.state, command) is None
    return hub.step(command)


def of(kind: type, effects: list[Effect]) -> list[Effect]:
    return [effect for effect in effects if isinstance(effect, kind)]


def end_of(hub: HubHarness) -> int:
    return hub.state.ledger.seq - 1


def test_a_sealed_position_of_this_history_is_welcome() -> None:
    hub = harness()
    effects = hello(hub, Seen("c1", 2, end_of(hub), B, "b"), batches={end_of(hub): "b"})
    assert len(of(Welcome, effects)) == 1
    assert not of(Contradicted, effects)


def test_only_a_sealed_position_that_the_log_reaches_is_looked_up() -> None:
    hub = harness()
    end = end_of(hub)

    def wanted(seen: Seen | None) -> Lookup | None:
        return missing(hub.state, JoinDaemon(7, "ann", "d-new", "boot", "mac-1", seen=seen))

    assert wanted(None) is None
    assert wanted(Seen("c1", 2, end)) is None
    assert wanted(Seen("c1", 2, end + 1, B, "b")) is None
    assert wanted(Seen("c1", 2, end, B, "b")) == Lookup(None, (), (), (), (end,))
    assert commit_name(3) == "commit:3"


@pytest.mark.parametrize(
    ("takeover", "past", "held", "lack"),
    [
        (B, 2, None, Lack(2, is_exact=True)),
        ("another", 0, None, None),
        (B, 0, "another", Lack(1, is_exact=False)),
    ],
)
def test_a_sealed_position_that_is_not_in_the_history_contradicts_the_hub(
    takeover: str, past: int, held: str | None, lack: Lack | None
) -> None:
    hub = harness()
    seen = Seen("c1", 2, end_of(hub) + past, takeover, "b")
    effects = hello(hub, seen, batches={} if held is None else {seen.seq: held})
    [contradicted] = of(Contradicted, effects)
    assert isinstance(contradicted, Contradicted)
    assert (contradicted.by, contradicted.seen) == ("daemon mac-1 (d-new)", seen)
    assert lack is None or contradicted.lack == lack
    [closed] = of(CloseSession, effects)
    assert isinstance(closed, CloseSession)
    assert closed.code == "HUB_REWOUND"


def test_a_position_without_a_seal_refuses_its_daemon_alone() -> None:
    hub = harness()
    effects = hello(hub, Seen("c1", 2, end_of(hub) + 2))
    assert not of(Contradicted, effects)
    assert len(of(CloseSession, effects)) == 1


@pytest.mark.parametrize(("holds", "said"), [(0, "lists nothing"), (2, "t-0 attempt 1 ended; t-1 attempt 1 ended")])
def test_what_a_daemon_of_a_lost_time_lists_is_audited_once_it_comes_back(holds: int, said: str) -> None:
    hub = harness(Takeover(1, A, 0), Takeover(EPOCHS_PER_ERA, B, 0), epoch=EPOCHS_PER_ERA)
    effects = hello(hub, Seen("c1", 1, 3, A, "b"), batches={3: "another"}, holds=holds)
    assert len(of(Welcome, effects)) == 1
    [entry] = [entry for batch in hub.batches for entry in batch.audit if entry.action == "rewind.daemon"]
    assert (entry.subject, entry.old, entry.new) == ("d-new", "saw commit 3 of epoch 1", said)


def test_of_very_many_attempts_the_audit_names_some_and_counts_the_rest() -> None:
    hub = harness(Takeover(1, A, 0), Takeover(EPOCHS_PER_ERA, B, 0), epoch=EPOCHS_PER_ERA)
    hello(hub, Seen("c1", 1, 3, A, "b"), holds=LISTED_MAX + 3)
    [entry] = [entry for batch in hub.batches for entry in batch.audit if entry.action == "rewind.daemon"]
    assert (entry.new or "").endswith("; and 3 more")


def test_what_was_not_lost_or_is_not_sealed_is_not_audited() -> None:
    hub = harness(Takeover(1, A, 0), epoch=EPOCHS_PER_ERA)
    end = end_of(hub)
    hub.state.takeovers = (*hub.state.takeovers, Takeover(EPOCHS_PER_ERA, B, end))
    hello(hub, Seen("c1", 1, end, A, "b"), batches={end: "b"}, holds=1)
    hello(hub, Seen("c1", 1, 99), holds=1)
    assert not [entry for batch in hub.batches for entry in batch.audit if entry.action == "rewind.daemon"]


def test_what_a_new_era_gave_up_is_audited_and_told() -> None:
    hub = harness()
    assert hub.ask(NoteRewind(("1 commit that hub h_1 saw",))) == Done()
    batch = hub.batches[-1]
    assert [(entry.action, entry.old) for entry in batch.audit] == [("rewind.accepted", "1 commit that hub h_1 saw")]
    assert [event.name for event in batch.events] == [EventName.HUB_REWIND_ACCEPTED]
