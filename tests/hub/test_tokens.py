"""Task tokens: ours, or nobody's."""

import pytest

from taskyard.hub.tokens import PREFIX, Tokens

TOKENS = Tokens(b"0123456789abcdef0123456789abcdef")
TASK = "01970000-0000-7000-8000-000000000001"
TOKEN = TOKENS.make(TASK, 3)


def test_a_token_names_its_attempt() -> None:
    assert TOKENS.read(TOKEN) == (TASK, 3)


def test_a_token_survives_a_restart_with_the_same_secret_and_no_other() -> None:
    assert Tokens(b"0123456789abcdef0123456789abcdef").read(TOKEN) == (TASK, 3)
    assert Tokens(b"another secret of at least 32 bytes").read(TOKEN) is None


@pytest.mark.parametrize(
    "token",
    [
        "",
        PREFIX,
        TOKEN.removeprefix(PREFIX),
        PREFIX + TOKEN,
        TOKEN[:-1],
        TOKEN + "=",
        TOKEN + "\n",
        TOKEN.upper(),
        TOKEN.replace(".3.", ".4."),
        TOKEN.replace(".3.", ".03."),
        TOKEN.replace(".3.", ".-3."),
        TOKEN.replace(".3.", ".٣."),
        TOKEN.replace(".3.", ".."),
        TOKEN.replace(".3.", f".{'9' * 5000}."),
        TOKEN.replace("7000", "7001"),
        f"{PREFIX}.3.{TOKEN.rpartition('.')[2]}",
        f"{PREFIX}{TASK}.3.\udc80",
        f"{PREFIX}\ud800.3.x",
        f"{PREFIX}{TASK}.3.{'ü' * 24}",
        "\0" * 64,
        "." * 1000,
    ],
)
def test_whatever_was_not_made_here_is_not_ours(token: str) -> None:
    assert TOKENS.read(token) is None
