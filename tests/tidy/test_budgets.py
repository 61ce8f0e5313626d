"""The time that `make test` may take is given to its sections in `tests/README.md`."""

from tools.sections import budgets, sections

SECONDS_MAX = 720


def test_every_section_has_a_budget() -> None:
    assert set(budgets()) == {*(section.name for section in sections()), "coverage"}


def test_the_budgets_add_up_to_what_the_suite_may_take() -> None:
    assert sum(budgets().values()) <= SECONDS_MAX
