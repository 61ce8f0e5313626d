"""A plugin of pytest, `-p tests.support.parts`: with `--part=1/2`, a section runs in parts beside each other.

A module stays whole, since what its tests share takes long to make; so do modules that are marked as `together`.
"""

from typing import Final

import pytest

TAKES_S: Final = 10
"""A module that does not say how long it takes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="N/OF", help="only one of so many parts of about the same size")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = config.getoption("--part")
    if asked is None:
        return
    number, of = map(int, asked.split("/"))
    together: dict[str, list[pytest.Item]] = {}
    for item in items:
        together.setdefault(_group_of(item), []).append(item)
    parts: list[list[pytest.Item]] = [[] for _ in range(of)]
    for group in sorted(together.values(), key=_seconds_of, reverse=True):
        min(parts, key=_seconds_of).extend(group)
    left_out = [item for part in parts if part is not parts[number - 1] for item in part]
    config.hook.pytest_deselected(items=left_out)
    items[:] = parts[number - 1]


def _group_of(item: pytest.Item) -> str:
    mark = item.get_closest_marker("together")
    return str(item.path) if mark is None else str(mark.args[0])


def _seconds_of(items: list[pytest.Item]) -> int:
    """By what their modules say of themselves: the number of tests says little."""
    modules = {item.path: item.get_closest_marker("takes") for item in items}
    return sum(TAKES_S if mark is None else mark.args[0] for mark in modules.values())
