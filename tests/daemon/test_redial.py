"""What a hub means that does not take a daemon."""

import pytest

from taskyard.daemon.redial import upgrade_refused
from taskyard.wire import frames


@pytest.mark.parametrize(
    ("status", "body", "code", "said"),
    [
        (
            401,
            b'{"detail": "This key is not known here.", "code": "UNAUTHENTICATED"}',
            frames.CLOSE_UNAUTHENTICATED,
            "the hub answered 401: This key is not known here.",
        ),
        (403, b'{"detail": "no"}', frames.CLOSE_UNAUTHENTICATED, "the hub answered 403: no"),
        (502, b"<html>", None, "the hub answered 502"),
        (503, b'{"detail": 7}', None, "the hub answered 503"),
        (500, b"\xff", None, "the hub answered 500"),
    ],
)
def test_an_answer_instead_of_a_connection_is_told_in_the_hubs_words(
    status: int, body: bytes, code: int | None, said: str
) -> None:
    assert upgrade_refused(status, body) == (code, said)


def test_what_a_stranger_answers_is_cut() -> None:
    _, said = upgrade_refused(401, b'{"detail": "' + b"x" * 10_000 + b'"}')
    assert len(said) < 1_000
