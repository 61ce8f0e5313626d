"""How fast a daemon is heard, by a clock and a backlog that the tests move."""

from collections.abc import Sequence

import pytest

from taskyard.gateway import pace
from taskyard.gateway.pace import Pace
from taskyard.wire import frames


class Scene:
    """A hub with a backlog, a clock, and a daemon that says heartbeats with a number each."""

    def __init__(self) -> None:
        self.now = 100.0
        self.backlog = 0
        self.told: list[float] = []
        self.pace = Pace(self._tell, lambda: self.backlog, lambda: self.now)

    def _tell(self, messages: Sequence[frames.FromDaemon]) -> None:
        for message in messages:
            assert isinstance(message, frames.Heartbeat)
            if message.load < 0:
                raise ValueError("not understood")
            self.told.append(message.load)

    def hear(self, *loads: float, size: int = 0, unknown: int = 0) -> float:
        said: list[frames.FromDaemon] = [frames.Heartbeat(load=load) for load in loads]
        return self.pace.hear(said, size=size, unknown=unknown)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_what_a_daemon_of_that_many_slots_says_at_once_is_told_at_once(scene: Scene) -> None:
    scene.backlog = pace.BACKLOG_MAX - 1
    assert scene.hear(*range(pace.TURN_MESSAGES)) == 0
    assert scene.told == list(range(pace.TURN_MESSAGES))


def test_of_a_frame_with_more_each_turn_tells_some_when_the_hub_has_decided_what_it_has(scene: Scene) -> None:
    many = list(range(1_000))
    assert scene.hear(*many) == pace.TURN_S
    assert scene.told == many[:256]
    scene.backlog = 1
    assert scene.pace.go_on() == pace.BEHIND_S
    assert scene.told == many[: 256 + 16]
    scene.backlog = 0
    while scene.pace.go_on():
        pass
    assert scene.told == many


def test_while_the_hub_is_behind_what_comes_waits_behind_what_came(scene: Scene) -> None:
    scene.backlog = pace.BACKLOG_MAX
    assert scene.hear(0) == pace.BEHIND_S
    assert [scene.hear(number) for number in range(1, 100)] == [pace.BEHIND_S] * 99
    assert scene.told == [0]
    assert scene.pace.go_on() == pace.BEHIND_S
    assert scene.told == list(range(17))
    scene.backlog = 0
    assert scene.pace.go_on() == 0
    assert scene.told == list(range(100))


@pytest.mark.parametrize(
    ("frame_", "costs"),
    [
        ({"size": 0}, pace.FRAME_WORTH),
        ({"size": 64_000}, pace.FRAME_WORTH + 1_000),
        ({"size": 0, "unknown": 100}, pace.FRAME_WORTH + 2_000),
    ],
    ids=["empty", "large", "of-no-known-type"],
)
def test_frames_beyond_a_seconds_worth_are_waited_for(scene: Scene, frame_: dict[str, int], costs: int) -> None:
    """Also those in which nothing is said."""
    number = pace.MESSAGES_PER_S // costs
    assert [scene.hear(**frame_) for _ in range(number)] == [0] * number
    assert all(scene.hear(**frame_) > 0 for _ in range(10))
    scene.now += 1.0
    assert scene.pace.go_on() == 0
    assert scene.hear(1, size=0) == 0
    assert scene.told == [1]


def test_a_second_later_a_seconds_worth_may_come_again(scene: Scene) -> None:
    number = pace.MESSAGES_PER_S // (pace.FRAME_WORTH + 1)
    for _ in range(3):
        assert not any(scene.hear(1) for _ in range(number))
        scene.now += 1.0


def test_at_the_end_all_that_waits_is_told(scene: Scene) -> None:
    scene.backlog = pace.BACKLOG_MAX
    scene.hear(*range(5_000))
    scene.pace.end()
    assert scene.told == list(range(5_000))


def test_what_stands_behind_a_message_that_is_not_understood_is_not_told(scene: Scene) -> None:
    with pytest.raises(ValueError, match="not understood"):
        scene.hear(1, 2, -1, 3, *[4] * 1_000)
    scene.pace.end()
    assert scene.told == [1, 2]
