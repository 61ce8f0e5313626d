"""What makes two submissions the same work, names inside a batch included."""

import os
import subprocess
import sys

import msgspec
import pytest

from taskyard.gateway.sameness import digest_of, meanings_of
from taskyard.wire.submission import BatchItem, Submission


def item(input: str, name: str | None = None, *depends_on: str) -> BatchItem:
    return BatchItem(input=input, name=name, depends_on=list(depends_on))


def test_a_name_means_the_work_it_names() -> None:
    one, same, other = ([item(text, "first")] for text in ("read 1", "read 1", "read 2"))
    assert meanings_of(one, "u") == meanings_of(same, "u") != meanings_of(other, "u")
    assert meanings_of(one, "u")["first"] == digest_of(one[0], "u")


def test_what_is_waited_for_counts_through_any_number_of_steps() -> None:
    def batch(root: str) -> list[BatchItem]:
        chain = [item("step", f"n{n}", f"n{n - 1}") for n in range(1, 1000)]
        return [*chain, item(root, "n0")]

    one, other = (meanings_of(batch(root), "u") for root in ("read 1", "read 2"))
    assert len(one) == len(set(one.values())) == 1000
    assert not set(one.values()) & set(other.values())


def test_the_order_in_which_a_batch_is_written_means_nothing() -> None:
    first, second, third = item("a", "a"), item("b", "b", "a"), item("c", "c", "a", "b")
    assert meanings_of([first, second, third], "u") == meanings_of([third, second, first], "u")


def test_a_circle_and_what_is_no_submission_are_left_to_those_who_refuse_them() -> None:
    circle = [item("a", "a", "b"), item("b", "b", "a")]
    assert set(meanings_of(circle, "u")) == {"a", "b"}
    assert meanings_of([BatchItem(name="empty")], "u") == {}
    assert meanings_of([item("a")], "u") == {}


# --- of one submission ---

CONTENT = {"type": "eng-backend", "input": "build", "context": {"a": 1}, "payload": {"b": [2]}, "depends_on": ["T-001"]}
IN_ANOTHER_PROCESS = """
import msgspec, sys
from taskyard.gateway.sameness import digest_of
from taskyard.wire.submission import Submission
print(digest_of(msgspec.json.decode(sys.argv[1], type=Submission), "ann"))
"""


def digest(**fields: object) -> str:
    user = str(fields.pop("user", "ann"))
    return digest_of(msgspec.json.decode(msgspec.json.encode({**CONTENT, **fields}), type=Submission), user)


def test_the_same_content_has_the_same_digest_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", IN_ANOTHER_PROCESS, msgspec.json.encode(CONTENT).decode()],
            env={**os.environ, "PYTHONHASHSEED": "1"},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip(),
        digest(),
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"user": "bob"},
        {"type": "eng-frontend"},
        {"input": "test"},
        {"context": {"a": 2}},
        {"payload": {"b": [3]}},
        {"depends_on": []},
    ],
)
def test_whatever_makes_it_other_work_makes_another_digest(other: dict[str, object]) -> None:
    assert digest(**other) != digest()
