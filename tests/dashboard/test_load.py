"""Half a minute of what `make soak` does for ten on each page: many tasks, many events, and pages that stay light."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.dashboard.load import EVENTS_PER_S, PATHS, run

pytestmark = [pytest.mark.slow, pytest.mark.measured]


def test_a_page_stays_responsive_and_flat_before_a_busy_yard(tmp_path: Path, browser: Browser) -> None:
    seen, events_per_s = run(tmp_path, browser, seconds=30 / len(PATHS))
    assert events_per_s >= 0.95 * EVENTS_PER_S
    assert [sentence for page in seen for sentence in page.wrong] == []
