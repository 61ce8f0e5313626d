"""Agents that claim, through many lives: gateways that die before they answer, agents that fall silent or go on too
long, owners who cancel, machines beside them, and a hub that is started anew.

The invariants are recomputed after every step. In the end all agents are well again, and every task has to come to its
own: ended once, by an attempt that somebody was given.
"""

import random

import pytest

from taskyard.core.commands import BeatTask, Command, CompleteTask, FailTask
from taskyard.core.daemon_commands import AcceptTask, JoinDaemon, LeaveDaemon, StartTask
from taskyard.core.effects import Effect, Execute, Welcome
from taskyard.core.task import Failure, Terms
from taskyard.vocabulary import ENDED, Level, Status
from tests.support.harness import HubHarness, a_draft

STEPS = 150
AGENTS = ("a", "b")
CAPABILITIES = ((), ("gpu",))
HEALED_STEPS_MAX = 2_000
FAILED_ONCE = (19,)


class Life:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.hub = HubHarness()
        self.sessions = 100
        self.open: dict[int, tuple[str, str | None, tuple[str, int] | None]] = {}
        """Claims that wait: what they are called, the slot they have, and what they were given."""
        self.held: list[tuple[str, int]] = []
        """Tasks and attempts that agents work on."""
        self.ended: dict[str, int] = {}

    def run(self) -> None:
        acts = (
            *(self.submit, self.submit, self.claim, self.claim, self.answer, self.answer, self.hang_up, self.wait),
            *(self.beat, self.finish, self.fall_silent, self.cancel, self.machine, self.restart),
        )
        for _ in range(STEPS):
            self.dice.choice(acts)()
            self.check_reserve()

    def step(self, command: Command) -> None:
        self.hear(self.hub.step(command))

    def hear(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Welcome) and effect.session in self.open:
                name, _, given = self.open[effect.session]
                self.open[effect.session] = (name, effect.daemon_id, given)
            elif isinstance(effect, Execute) and effect.session in self.open:
                name, slot, given = self.open[effect.session]
                is_over = given is None or given[0] not in self.hub.state.daemons[effect.daemon_id].holding
                assert is_over, "a claim has one task at a time"
                self.open[effect.session] = (name, slot, (effect.task_id, effect.attempt))

    def submit(self) -> None:
        draft = a_draft(
            capabilities=self.dice.choice(CAPABILITIES),
            level=self.dice.choice(list(Level)),
            terms=Terms(exclusive=self.dice.choice((None, None, "k")), max_attempts=2, retry_delay_ms=1_000),
        )
        before = len(self.hub.effects)
        self.hub.submit(draft)
        self.hear(self.hub.effects[before:])

    def claim(self) -> None:
        self.sessions += 1
        name = self.dice.choice(AGENTS)
        able = CAPABILITIES[1] if name == "b" else ()
        self.open[self.sessions] = (name, None, None)
        boot = f"boot-{self.sessions}"
        self.step(JoinDaemon(self.sessions, "ann", name, boot, name, slots=1, capabilities=able, pulls=True))

    def answer(self) -> None:
        """Whoever was given something takes it; what its gateway has to say may be lost with the gateway."""
        given = [(session, slot, task) for session, (_, slot, task) in self.open.items() if task is not None]
        if not given:
            return
        session, slot, task = self.dice.choice(given)
        assert slot is not None
        if self.dice.random() < 0.8:
            self.step(AcceptTask(session, slot, *task))
            self.step(StartTask(session, slot, *task))
        self.held.append(task)
        self.leave(session)

    def hang_up(self) -> None:
        if self.open:
            self.leave(self.dice.choice(list(self.open)))

    def leave(self, session: int) -> None:
        self.step(LeaveDaemon(session, self.open.pop(session)[0]))

    def wait(self) -> None:
        self.hear(self.hub.advance(s=self.dice.choice((0.2, 3, 12, 40))))

    def beat(self) -> None:
        for task in self.held:
            self.step(BeatTask(*task))

    def finish(self) -> None:
        if not self.held:
            return
        task_id, attempt = self.held.pop(self.dice.randrange(len(self.held)))
        is_open = task_id in self.hub.state.tasks and self.hub.state.tasks[task_id].status not in ENDED
        if self.dice.random() < 0.7:
            self.step(CompleteTask(None, task_id, attempt, outcome=b'{"result":1}'))
        else:
            self.step(FailTask(None, task_id, attempt, Failure("NETWORK_DOWN", "it broke")))
        task = self.hub.state.tasks.get(task_id)
        if is_open and task is not None and task.status is Status.COMPLETED:
            self.ended[task_id] = self.ended.get(task_id, 0) + 1

    def fall_silent(self) -> None:
        if self.held:
            self.held.pop(self.dice.randrange(len(self.held)))

    def cancel(self) -> None:
        alive = [task for task in self.hub.state.tasks.values() if task.status not in ENDED]
        if alive and self.dice.random() < 0.5:
            self.hub.cancel(self.dice.choice(alive))

    def machine(self) -> None:
        """A machine of its owner's comes, or goes away."""
        daemon = self.hub.state.daemons.get("d-mac")
        if daemon is not None and daemon.session:
            self.hear(self.hub.disconnect(daemon))
        else:
            before = len(self.hub.effects)
            self.hub.daemon("mac", slots=5, capabilities=("gpu",), boot=f"boot-{self.sessions}-{before}")
            self.hear(self.hub.effects[before:])

    def restart(self) -> None:
        """Whoever waited asks anew; whoever has a task goes on with it."""
        if self.dice.random() < 0.5:
            return
        old, self.hub = self.hub, self.hub.restarted()
        self.hub.batches, self.open = list(old.batches), {}
        live = {task.id: task.status for task in old.state.tasks.values() if task.status not in ENDED}
        assert {id: task.status for id, task in self.hub.state.tasks.items()} == live

    def check_reserve(self) -> None:
        """What is not critical leaves a fifth of a machine's slots alone, whoever claims beside it."""
        daemon = self.hub.state.daemons.get("d-mac")
        if daemon is None or not daemon.session:
            return
        granted = [task.newest for task in daemon.holding.values()]
        others = [
            one for one in granted if one is not None and one.level is not Level.CRITICAL and one.in_place is None
        ]
        assert len(others) <= 4, [one.number for one in others]

    def heal(self) -> None:
        """Everybody means well from now on, and nothing new comes."""
        for session in list(self.open):
            self.leave(session)
        daemon = self.hub.state.daemons.get("d-mac")
        if daemon is not None and daemon.session:
            self.hub.disconnect(daemon)
        for _ in range(HEALED_STEPS_MAX):
            left = [task for task in self.hub.state.tasks.values() if task.status not in ENDED]
            if not left:
                return
            if not self.open:
                self.claim()
                session, (_, _, given) = next(iter(self.open.items()))
                if given is None:
                    self.leave(session)
                    able = CAPABILITIES[1]
                    self.sessions += 1
                    self.open[self.sessions] = ("b", None, None)
                    boot = f"boot-{self.sessions}"
                    self.step(JoinDaemon(self.sessions, "ann", "b", boot, "b", slots=1, capabilities=able, pulls=True))
            for session, (_, slot, given) in list(self.open.items()):
                if given is not None and slot is not None:
                    self.step(AcceptTask(session, slot, *given))
                    self.step(CompleteTask(None, *given, outcome=b'{"result":1}'))
                self.leave(session)
            self.held = []
            self.hear(self.hub.advance(s=2))
        raise AssertionError(f"not done: {[(task.id, task.status) for task in left]}")


@pytest.mark.parametrize("seed", [*range(16), *FAILED_ONCE])
def test_what_agents_claim_comes_to_its_end_whatever_happens(seed: int) -> None:
    life = Life(seed)
    life.run()
    life.heal()
    assert all(times == 1 for times in life.ended.values())
    for daemon in life.hub.state.daemons.values():
        assert not daemon.holding, f"{daemon.id} holds what has ended"
