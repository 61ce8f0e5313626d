"""Which troubles one life meets, and how often. Each seed draws its own mix, some kinds not at all.

A mix of everything at once hides what one kind alone would show; so each seed switches a kind off as often as on.
"""

import random

from msgspec import Struct

OFTEN_MS = 5_000


class Faults(Struct, kw_only=True):
    """Mean milliseconds between events of a kind (0: never), and odds of those that strike in passing."""

    # The hub
    hub_crash_ms: int = 0
    hub_pause_ms: int = 0
    wall_jump_ms: int = 0
    # The disk
    commit_fails: float = 0.0
    commit_ambiguous: float = 0.0
    crash_at_commit: float = 0.0
    crash_in_release: float = 0.0
    # The network
    cut_ms: int = 0
    half_open: float = 0.0
    one_way: float = 0.0
    dial_fails: float = 0.0
    slow_network: bool = False
    answer_lost: float = 0.0
    # The daemons
    daemon_crash_ms: int = 0
    daemon_sleep_ms: int = 0
    daemon_drain_ms: int = 0
    hostile: int = 0
    """Daemons that lie."""
    forgets_ms: int = 0
    """Between words that a daemon be forgotten."""
    ephemeral: bool = False
    """Whether one of the daemons says that it does not come back, though it does."""
    # The work
    outage_ms: int = 0
    """Spells in which all work of one type fails."""
    poison: float = 0.0
    hangs: float = 0.0

    @classmethod
    def everything(cls) -> "Faults":
        """All kinds at once, each often: to see planted mistakes soon."""
        return cls(
            hub_crash_ms=25_000,
            hub_pause_ms=60_000,
            wall_jump_ms=120_000,
            commit_fails=0.008,
            commit_ambiguous=0.008,
            crash_at_commit=0.004,
            crash_in_release=0.004,
            cut_ms=8_000,
            half_open=0.2,
            one_way=0.2,
            dial_fails=0.1,
            answer_lost=0.03,
            daemon_crash_ms=15_000,
            daemon_sleep_ms=40_000,
            daemon_drain_ms=60_000,
            hostile=1,
            forgets_ms=3_000,
            ephemeral=True,
            outage_ms=20_000,
            hangs=0.01,
        )

    @classmethod
    def swarm(cls, rng: random.Random) -> "Faults":
        def sometimes(low: float, high: float, odds: float = 0.6) -> float:
            return rng.uniform(low, high) if rng.random() < odds else 0.0

        mix = cls(
            hub_crash_ms=int(sometimes(8_000, 60_000, 0.7)),
            hub_pause_ms=int(sometimes(20_000, 120_000, 0.4)),
            wall_jump_ms=int(sometimes(40_000, 300_000, 0.3)),
            commit_fails=sometimes(0.0005, 0.01),
            commit_ambiguous=sometimes(0.0005, 0.01),
            crash_at_commit=sometimes(0.0005, 0.008, 0.5),
            crash_in_release=sometimes(0.0005, 0.008, 0.5),
            cut_ms=int(sometimes(3_000, 40_000, 0.7)),
            half_open=sometimes(0.05, 0.5),
            one_way=sometimes(0.05, 0.4),
            dial_fails=sometimes(0.05, 0.4),
            slow_network=rng.random() < 0.3,
            answer_lost=sometimes(0.01, 0.1),
            daemon_crash_ms=int(sometimes(4_000, 40_000, 0.7)),
            daemon_sleep_ms=int(sometimes(20_000, 90_000, 0.5)),
            daemon_drain_ms=int(sometimes(30_000, 120_000, 0.4)),
            hostile=rng.choice((0, 0, 1, 2)),
            outage_ms=int(sometimes(10_000, 60_000, 0.5)),
            poison=sometimes(0.002, 0.02, 0.3),
            hangs=sometimes(0.005, 0.03, 0.5),
        )
        # Whatever else is rare, something is not: a life in which nothing happens proves nothing.
        if min(ms or OFTEN_MS + 1 for ms in (mix.hub_crash_ms, mix.daemon_crash_ms, mix.cut_ms)) > OFTEN_MS:
            mix.cut_ms = OFTEN_MS
        # By dice of their own: what came later than the others leaves the mixes of all seeds as they were.
        own = random.Random(f"{mix}")
        mix.forgets_ms, mix.ephemeral = own.choice((0, 1_000, 10_000)), own.random() < 0.4
        return mix
