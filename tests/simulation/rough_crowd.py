"""A crowd short of room, on daemons that die: much has to go for critical work, and much falls under suspicion."""

from msgspec.structs import replace

from taskyard.core.settings import Settings
from taskyard.vocabulary import Level, Status
from tests.simulation.crowd import Act, Crowd


class RoughCrowd(Crowd):
    """The same rules, other odds. Low work runs only where little else waits, so there is little else."""

    levels = (*[Level.LOW] * 9, Level.NORMAL, Level.HIGH, Level.CRITICAL)
    pressed = (1, 1, 2)
    beat_ms = 5_000

    def settings(self) -> Settings:
        """The hub is seldom full: then nobody's going would help."""
        settings = super().settings()
        total, low_max = self.rng.choice((8, 1000, 1000, 1000)), self.rng.choice((1, 5, 5))
        return replace(
            settings,
            limits=replace(settings.limits, running_total=total),
            shares=replace(settings.shares, low_max=low_max),
            preemption=replace(settings.preemption, times_max=self.rng.choice((1, 3))),
            suspects=replace(settings.suspects, deaths_max=self.rng.choice((1, 2)), hold_after_s=1.0),
        )

    def acts(self) -> dict[Act, float]:
        acts = super().acts()
        pressing: dict[Act, float] = {self._press: 16, self._submit: 4, self._change: 0.5} if self._is_flooding else {}
        calm: dict[Act, float] = {self._fail: 1, self._say_of_a_queue: 0.5}
        return {**acts, **pressing, **calm, self._begin: 14, self._end: 20, self._kill: 3}

    def _kill(self) -> None:
        """Of the daemons at work, the one whose work has seen most of them die."""
        deaths: dict[str, int] = {}
        for daemon, task, _ in self._held():
            if task.status is Status.RUNNING:
                died = 0 if task.trouble is None else task.trouble.deaths
                deaths[daemon.id] = max(deaths.get(daemon.id, 0), died)
        if deaths:
            self._crash(max(deaths, key=lambda name: (deaths[name], name)))
