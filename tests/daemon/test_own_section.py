"""`[daemon]` of the configuration file: read whole, or refused with every fault."""

from pathlib import Path

import pytest

from taskyard.daemon.own_section import NAMES_MAX, BadSection, OwnSection, read_own_section


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "taskyard.toml"
    file.write_text(text)
    return file


def test_what_is_written_is_read_beside_what_is_the_hubs(tmp_path: Path) -> None:
    text = '[daemon]\nslots = 2\ncapabilities = ["gpu"]\nmodels = ["m"]\ntypes = ["t"]\n[limits]\nrunning_total = 5\n'
    expected = OwnSection(slots=2, capabilities=("gpu",), models=("m",), types=("t",))
    assert read_own_section(written(tmp_path, text)) == expected


def test_without_a_file_nothing_is_said(tmp_path: Path) -> None:
    assert read_own_section(tmp_path / "none.toml") == OwnSection()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[daemon]\nslots = 0\n", "daemon.slots: from 1 to"),
        ('[daemon]\ncapabilities = [""]\n', "daemon.capabilities: ''"),
        ('[daemon]\ntypes = ["a\\u0007"]\n', "daemon.types:"),
        (f"[daemon]\nmodels = {['m'] * (NAMES_MAX + 1)}\n", "daemon.models: at most"),
        ("[daemon]\nslot = 1\n", "slot"),
        ("[daemon\n", "is not valid"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadSection, match="not valid") as refused:
        read_own_section(written(tmp_path, text))
    assert complaint in str(refused.value)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadSection, match="cannot be read"):
        read_own_section(tmp_path)
