"""Arguments: what may be configured, and what a task's words become."""

from typing import Any

import pytest

from taskyard.daemon.command.placeholders import ARGUMENT_BYTES_MAX, MADE, WRITTEN, faults_in_command, filled
from taskyard.daemon.task import TaskError

VALUES = {name: f"<{name}>" for name in (*MADE, *WRITTEN)}


def faults(*command: str, has_flags: bool = False) -> list[str]:
    return list(faults_in_command(command, has_flags=has_flags))


def test_a_command_of_plain_arguments_and_whole_placeholders_is_fine() -> None:
    assert faults("agent", "-x", "{workspace}", '{"not": "ours"}', "{model}", "--", "{prompt}", "{title}") == []
    assert faults("agent", "{flags}", has_flags=True) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("",), "begins with the program"),
        (("--help",), "begins with the program"),
        (("{prompt}",), "begins with the program"),
        (("run-{type}",), "begins with the program"),
        (("agent", "a\0b"), "zero byte"),
        (("agent", "{nothing}"), "{nothing} is not known"),
        (("agent", "--title={title}"), "must be an argument of its own"),
        (("agent", "--dir={workspace}/x"), "must be an argument of its own"),
        (("agent", "{flags}"), "needs flags"),
        *((("agent", f"{{{name}}}"), 'must stand behind "--"') for name in WRITTEN),
    ],
)
def test_what_could_be_misread_is_refused_when_it_is_configured(command: tuple[str, ...], said: str) -> None:
    (fault,) = faults(*command)
    assert said in fault


def test_flags_behind_the_end_of_options_are_refused() -> None:
    assert 'must stand before "--"' in faults("agent", "--", "{flags}", has_flags=True)[0]


@pytest.mark.parametrize("value", ["-rf", "--help", "$(id)", "`id`; rm", "a b", "", "../../etc", "{flags}", "ü\n\t"])
def test_a_value_is_one_argument_whatever_is_in_it(value: str) -> None:
    values = {**VALUES, "prompt": value}
    command = ("agent", "--print", "--", "{prompt}", "{task_id}")
    assert filled(command, values, model=None) == ["agent", "--print", "--", value, "<task_id>"]


def test_models_and_flags_stand_where_their_placeholders_are() -> None:
    command = ("agent", "--model", "{model}", "{flags}", "-v")
    assert filled(command, VALUES, model="m", flags=["--a", "b"]) == ["agent", "--model", "m", "--a", "b", "-v"]


def test_without_a_model_its_option_is_left_out_too() -> None:
    assert filled(("agent", "-x", "--model", "{model}", "-v"), VALUES, model=None) == ["agent", "-x", "-v"]


def test_a_model_that_has_to_be_said_is_asked_for() -> None:
    with pytest.raises(TaskError, match="has to be told a model") as refused:
        filled(("agent", "run", "{model}"), VALUES, model=None)
    assert refused.value.code == "INVALID_INPUT"


@pytest.mark.parametrize(("value", "said"), [("a\0b", "zero byte"), ("ü" * ARGUMENT_BYTES_MAX, "standard input")])
def test_what_cannot_be_an_argument_is_refused(value: str, said: Any) -> None:
    with pytest.raises(TaskError, match=said) as refused:
        filled(("agent", "--", "{prompt}"), {**VALUES, "prompt": value}, model=None)
    assert refused.value.code == "INVALID_INPUT"
