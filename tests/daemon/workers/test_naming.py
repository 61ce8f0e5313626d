"""Functions by name: the same one is found again, in a module or in the program itself."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from taskyard.daemon.workers.naming import PROGRAM, Place, function_at, place_of
from tests.daemon.workers import functions


def test_a_function_of_a_module_is_found_by_its_name() -> None:
    place = place_of(functions.who)
    assert place == Place("tests.daemon.workers.functions", "who")
    assert function_at(place) is functions.who


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A program that runs, as the interpreter has it."""
    path = tmp_path / "program.py"
    path.write_text("import sys\nassert __name__ != '__main__'\ndef work(task): return sys.argv\n")
    module = ModuleType("__main__")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.delitem(sys.modules, PROGRAM, raising=False)
    return module


def of_program() -> object:
    def work(task: object) -> None: ...

    work.__module__, work.__qualname__ = "__main__", "work"
    return work


def test_a_function_of_the_program_is_found_in_its_file_under_another_name(program: ModuleType) -> None:
    place = place_of(of_program())  # type: ignore[arg-type]
    try:
        assert place == Place(PROGRAM, "work", program.__file__)
        assert function_at(place)(None) is sys.argv
        assert function_at(place) is function_at(place)
    finally:
        sys.modules.pop(PROGRAM, None)


def test_a_program_that_is_a_module_is_imported_as_that(program: ModuleType) -> None:
    program.__spec__ = type("Spec", (), {"name": "my.module"})()
    assert place_of(of_program()) == Place("my.module", "work")  # type: ignore[arg-type]


def test_a_program_without_a_file_has_no_functions_for_others(program: ModuleType) -> None:
    program.__file__ = None
    with pytest.raises(TypeError, match="its program is not in a file"):
        place_of(of_program())  # type: ignore[arg-type]


def test_a_program_that_fails_when_it_is_imported_is_not_taken_for_one_that_was(program: ModuleType) -> None:
    assert program.__file__ is not None
    Path(program.__file__).write_text("1 / 0")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            function_at(Place(PROGRAM, "work", program.__file__))
