"""The faults that the tests must catch can still be planted. `python -m tools.planted_faults` plants them."""

from collections import Counter

import pytest

from tools.planted_faults import Fault, faults
from tools.sections import ROOT, TESTS


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_a_planted_fault_has_its_line_and_its_tests(fault: Fault) -> None:
    assert (ROOT / "src" / "taskyard" / fault.file).read_text().count(fault.old) == 1
    assert fault.new != fault.old
    assert (TESTS / fault.tests.partition("::")[0]).exists()


def test_every_area_has_ten() -> None:
    areas = Counter(fault.area for fault in faults())
    assert set(areas) == {"policy", "recovery", "edge", "daemons"}
    assert min(areas.values()) >= 10
