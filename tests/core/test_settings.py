"""What is computed from the numbers; their defaults are compared with the specification in `hub/test_settings.py`."""

from taskyard.core.settings import ExecutionRules, Settings, TypeRules


def test_a_lease_is_judged_with_20_percent_to_spare() -> None:
    assert Settings().lease.judged_ms == 36_000


def test_a_type_that_says_nothing_of_reports_is_as_all_are() -> None:
    types = {"audit": TypeRules(require_decision_report=True), "chore": TypeRules(require_decision_report=False)}
    lax = Settings(types={**types, "plain": TypeRules()})
    strict = Settings(execution=ExecutionRules(require_decision_report=True), types=lax.types)
    asked = ("audit", "chore", "plain", "other")
    assert [lax.requires_report(type) for type in asked] == [True, False, False, False]
    assert [strict.requires_report(type) for type in asked] == [True, False, True, True]
