"""Several hubs of one yard, called in turn."""

import pytest

from taskyard.wire.addresses import Turn, each_hub


@pytest.mark.parametrize(
    ("addresses", "hubs"),
    [
        ("http://a:1", ("http://a:1",)),
        ("http://a:1,http://b:2/", ("http://a:1", "http://b:2")),
        (" http://a:1 , ,http://b:2,", ("http://a:1", "http://b:2")),
        ("", ()),
    ],
)
def test_hubs_are_listed_with_commas(addresses: str, hubs: tuple[str, ...]) -> None:
    assert each_hub(addresses) == hubs


def test_the_first_is_called_until_it_is_passed_over_and_again_after_the_last() -> None:
    turn = Turn(("a", "b"))
    called = [turn.hub]
    for _ in range(2):
        turn.pass_over(turn.hub)
        called.append(turn.hub)
    assert called == ["a", "b", "a"]


def test_two_callers_who_failed_at_one_hub_pass_over_it_once() -> None:
    turn = Turn(("a", "b", "c"))
    turn.pass_over("a")
    turn.pass_over("a")
    assert turn.hub == "b"
