"""The sizes of a submission's fields, each named when it is over."""

import msgspec
import pytest

from taskyard.wire.fields import FIELD_BYTES_MAX, INPUT_BYTES_MAX, OBJECT_BYTES_MAX
from taskyard.wire.submission import Submission, oversize_of


def a_submission(**fields: object) -> Submission:
    return msgspec.json.decode(msgspec.json.encode({"input": "hello", **fields}), type=Submission)


def test_a_submission_within_its_bounds_has_no_fault() -> None:
    assert oversize_of(a_submission(constraints=["short", "and sweet"], context={"a": 1})) == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("input", "x" * (INPUT_BYTES_MAX + 1)),
        ("context", {"a": "x" * OBJECT_BYTES_MAX}),
        ("payload", {"a": "x" * OBJECT_BYTES_MAX}),
        ("constraints", ["x" * (FIELD_BYTES_MAX // 2)] * 3),
    ],
)
def test_a_field_over_its_size_is_named(field: str, value: object) -> None:
    faults = oversize_of(a_submission(**{field: value}))
    assert [fault.path for fault in faults] == [field]
