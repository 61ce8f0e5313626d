"""A pytest plugin, `-p tests.support.parts`: several processes share the modules of one section, `--claims DIR`.

A process claims a module before it runs the first test of it, by making a file, and leaves alone what another has
claimed: no process idles while there is work, however long each module takes. A module stays whole, since what its
tests share takes long to make; so do modules of one `together` mark. Those that take long (`takes`) are begun first.
"""

import os
from pathlib import Path
from typing import Final

import pytest

CLAIMS: Final = pytest.StashKey["Claims"]()


class Claims:
    """The modules, or groups of modules, that belong to this process."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mine: dict[str, bool] = {}

    def is_mine(self, item: pytest.Item) -> bool:
        group = _group_of(item)
        if group not in self._mine:
            self._mine[group] = self._claim(group)
        return self._mine[group]

    def _claim(self, group: str) -> bool:
        try:
            os.close(os.open(self._directory / group.replace(os.sep, "%"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--claims", type=Path, metavar="DIR", help="share the modules with other processes")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    directory = config.getoption("--claims")
    if directory is not None:
        config.stash[CLAIMS] = Claims(directory)
        # Sorting keeps the order of equals, so a module's tests stay as they stand; a group's modules come together.
        first = {_group_of(item): number for number, item in reversed(list(enumerate(items)))}
        longest: dict[str, int] = {}
        for item in items:
            longest[_group_of(item)] = max(longest.get(_group_of(item), 0), _seconds_of(item))
        items.sort(key=lambda item: (-longest[_group_of(item)], first[_group_of(item)]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run what this process claims. The test after each is known, so that pytest tears down all that it does not share.

    So a module is claimed when the last test of the module before it begins.
    """
    claims = session.config.stash.get(CLAIMS, None)
    if claims is None or session.testsfailed:
        return None
    mine = filter(claims.is_mine, session.items)
    item = next(mine, None)
    while item is not None:
        following = next(mine, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail or session.shouldstop:
            raise session.Failed(session.shouldfail) if session.shouldfail else session.Interrupted(session.shouldstop)
        item = following
    return True


def _group_of(item: pytest.Item) -> str:
    mark = item.get_closest_marker("together")
    return item.nodeid.partition("::")[0] if mark is None else str(mark.args[0])


def _seconds_of(item: pytest.Item) -> int:
    mark = item.get_closest_marker("takes")
    return 0 if mark is None else int(mark.args[0])
