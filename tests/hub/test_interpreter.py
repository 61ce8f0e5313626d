"""The collector keeps off what lives as long as the hub, and gets it back when it does not."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from taskyard.hub import interpreter


class Knot:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


def test_a_state_that_was_to_stay_is_let_go_when_it_is_replaced() -> None:
    knot = Knot()
    gone = weakref.ref(knot)
    interpreter.settle()
    assert gc.get_freeze_count()
    del knot
    gc.collect()
    assert gone() is not None, "it is kept from the collector"
    interpreter.settle_again()
    assert gone() is None
    assert gc.get_freeze_count()


def test_a_hub_that_never_settled_down_is_left_alone() -> None:
    gc.unfreeze()
    interpreter.settle_again()
    assert not gc.get_freeze_count()
