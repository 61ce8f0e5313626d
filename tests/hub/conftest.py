"""Databases that hubs were lent are emptied after each test."""

from collections.abc import Iterator

import pytest

from tests.support.postgres import take_back


@pytest.fixture(autouse=True)
def _databases_are_lent() -> Iterator[None]:
    """Requested before all others, so that it ends when they have closed what they opened."""
    yield
    take_back()
