"""A yard in which intake limits nobody, for tests that are about something else."""

from typing import Final

from msgspec.structs import replace

from taskyard.core.settings import Settings

ROOM: Final[dict[str, int | float]] = {"max_pending": 1_000_000}
"""What a user is granted who may have any number of tasks pending."""


def without_rates(settings: Settings) -> Settings:
    return replace(settings, limits=replace(settings.limits, rate={}))
