"""Task tokens and sealed texts: ours, or nobody's."""

import re

import pytest

from taskyard.hub.tokens import Tokens
from taskyard.vocabulary import TOKEN_PREFIX as PREFIX

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


# --- sealed texts ------------------------------------------------------------------------------------------

TEXT = '["ä",[1,2]]'
SEALED = TOKENS.seal("session", TEXT)
CONTENT, _, MAC = SEALED.partition(".")


@pytest.mark.parametrize("text", ["", "a", "ab", "abc", TEXT, "\n.;=", "x" * 3000])
def test_a_sealed_text_is_read_by_every_hub_with_the_secret_and_by_no_other(text: str) -> None:
    sealed = TOKENS.seal("session", text)
    assert Tokens(b"0123456789abcdef0123456789abcdef").unseal("session", sealed) == text
    assert Tokens(b"another secret of at least 32 bytes").unseal("session", sealed) is None


def test_a_cookie_and_an_address_can_hold_what_is_sealed() -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", TOKENS.seal("session", "".join(map(chr, range(1000)))))


def test_what_was_sealed_for_one_purpose_opens_nothing_else() -> None:
    assert TOKENS.unseal("ticket", SEALED) is None
    assert TOKENS.read(SEALED) is None
    assert TOKENS.read(PREFIX + SEALED) is None
    assert TOKENS.unseal("session", TOKEN) is None
    assert TOKENS.unseal("", TOKEN.removeprefix(PREFIX)) is None


@pytest.mark.parametrize(
    "sealed",
    [
        "",
        ".",
        CONTENT,
        f"{CONTENT}.",
        f".{MAC}",
        SEALED[:-1],
        SEALED[1:],
        SEALED + "=",
        SEALED + "\n",
        SEALED.upper(),
        f"{CONTENT}=.{MAC}",
        f"{CONTENT}.{CONTENT}.{MAC}",
        f"{CONTENT}.\udc80",
        f"\ud800.{MAC}",
        f"{CONTENT}.{'ü' * 24}",
        "\0" * 64,
        "." * 1000,
    ],
)
def test_whatever_was_not_sealed_here_says_nothing(sealed: str) -> None:
    assert TOKENS.unseal("session", sealed) is None


def test_no_single_changed_character_of_a_sealed_text_goes_unnoticed() -> None:
    for at, old in enumerate(SEALED):
        for new in "AZaz09-_.=":
            if new != old:
                assert TOKENS.unseal("session", SEALED[:at] + new + SEALED[at + 1 :]) is None
