"""A crowd whose daemons go for good, by a person's word or by housekeeping, and now and then come anew."""

from typing import Final

from taskyard.core.daemon_commands import ForgetDaemon, ForgetUnseen, LeaveDaemon
from tests.simulation.crowd import Act, Crowd

LEASE_MS: Final = 36_000


class LeavingCrowd(Crowd):
    """`d0` serves everybody, and is back at once if it is forgotten."""

    def __init__(self, seed: int) -> None:
        self.forgotten = 0
        self.refused = 0
        self._gone: list[str] = []
        super().__init__(seed)

    def acts(self) -> dict[Act, float]:
        return {
            **super().acts(),
            self._flap: 3,
            self._forget: 2,
            self._tidy: 0.5,
            self._vanish: 0.7,
            self._come_anew: 1,
        }

    def _forget(self) -> None:
        away = [daemon.id for daemon in self.state.daemons.values() if not daemon.session]
        if away:
            name = self.rng.choice(away)
            self._note_who_goes(ForgetDaemon(name))
            self.refused += name in self.state.daemons and name not in self._gone

    def _tidy(self) -> None:
        self._note_who_goes(ForgetUnseen(self.now.wall - self.rng.choice((0, 5_000))))

    def _note_who_goes(self, command: ForgetDaemon | ForgetUnseen) -> None:
        known = list(self.state.daemons)
        self.decide(command)
        gone = [name for name in known if name not in self.state.daemons]
        self.forgotten += len(gone)
        self._gone += [name for name in gone if name != "d0"]
        if "d0" in gone:
            self._join("d0", slots=3)

    def _vanish(self) -> None:
        """A daemon is silent until its lease has ended, and holds nothing then."""
        there = [daemon for daemon in self.state.daemons.values() if daemon.session]
        if there:
            daemon = self.rng.choice(there)
            self.decide(LeaveDaemon(daemon.session, daemon.id))
            self.pass_time(LEASE_MS)

    def _come_anew(self) -> None:
        if self._gone:
            name = self._gone.pop(self.rng.randrange(len(self._gone)))
            self._join(name, slots=self.rng.choice((1, 3, 10)))
