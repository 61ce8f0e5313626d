"""What is computed from the numbers; their defaults are compared with the specification in `hub/test_settings.py`."""

from taskyard.core.settings import Settings


def test_a_lease_is_judged_with_20_percent_to_spare() -> None:
    assert Settings().lease.judged_ms == 36_000
