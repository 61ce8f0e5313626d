"""How deeply a JSON text nests, and whether it hides what no reader takes, found out before anything parses it.

A parser follows nesting by calling itself, so depth is what a hostile text spends our stack with. The
check is linear and runs at the speed of `bytes.replace`: brackets outside strings are kept, and each
pass removes the innermost pairs. A text that nests `n` deep is empty after `n` passes.
"""

import re
from typing import Final

import msgspec

DEPTH_MAX: Final = 64
FRAME_WRAPS: Final = 3
"""What a daemon's value stands in: the array of messages, the message, and the field whose value may nest."""

_NOT_STRUCTURE: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ONE_KIND: Final = bytes.maketrans(b"[]", b"{}")
_STRING: Final = re.compile(rb'"[^"]*"')
# An escaped backslash. Taken out pair by pair from the left, what is left of a run of backslashes is the one
# that escapes what follows it. An expression that walks a string escape by escape would need a gigabyte for
# a hostile body of 16 MiB, and quadratic time if the string does not end.
_PAIR: Final = b"\\\\"
# How a number that is out of range begins; so may one that is just within, or the inside of a string. What stands
# before a number cannot be in one, and the runs are possessive: every byte is looked at twice at most.
_DIGITS_MANY: Final = 309
_LONG_NUMBER: Final = re.compile(rb"[:,\[\s]-?[0-9](?:[0-9]{308}|[0-9]*+(?:\.[0-9]++)?[eE]\+?[0-9]{3})")
# The same more roughly and ten times as fast: every digit written as 0, every E as e, and no plus. A text without
# either of these has no such number.
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789E", b"000000000e")
_LONG_ROUGHLY: Final = b"0" * _DIGITS_MANY
_LARGE_ROUGHLY: Final = b"0e000"


def is_too_deep(text: bytes, depth_max: int = DEPTH_MAX) -> bool:
    """Whether it nests deeper than this. Of a text that is no JSON this says nothing: the parser will."""
    if text.count(b"{") + text.count(b"[") <= depth_max:
        return False
    rest = _brackets(text)
    if b"{" * (depth_max + 1) in rest:
        return True
    for _ in range(depth_max):
        shorter = rest.replace(b"{}", b"")
        if not shorter or len(shorter) == len(rest):
            return False
        rest = shorter
    return True


def _brackets(text: bytes) -> bytes:
    """The brackets outside strings, all of one kind: two kinds in one pass would lose count of `[{}]`.

    A bracket is outside when the quotes before it are even in number. Two that stand together can thus go, whether
    they are one string without brackets or the border between two: few are left for the slower expression.
    """
    if b"\\" in text:
        text = text.replace(_PAIR, b"").replace(b'\\"', b"")
    rest = text.translate(_ONE_KIND, _NOT_STRUCTURE).replace(b'""', b"")
    return _STRING.sub(b"", rest) if b'"' in rest else rest


def has_nul(text: bytes) -> bool:
    """Whether a string in this JSON text contains U+0000, which no text column of a database takes."""
    # Most texts have no backslash, and one letter is found ten times as fast as six.
    return b"\\" in text and b"\\u0000" in text and b"\\u0000" in text.replace(_PAIR, b"")


def without_nul(text: bytes) -> bytes:
    """The same text with U+FFFD in place of U+0000: what an agent said is kept, not refused."""
    if b"\\u0000" not in text:
        return text
    return _PAIR.join(part.replace(b"\\u0000", b"\\ufffd") for part in text.split(_PAIR))


def has_wild_number(text: bytes) -> bool:
    """Whether a number in this JSON text is beyond what a reader can hold.

    Values that we only pass on are not decoded here. One such number would make every list that shows it
    unreadable, ours included.
    """
    if len(text) < len(_LARGE_ROUGHLY):
        return False
    roughly = text.translate(_DIGITS_ALIKE, b"+")
    if _LARGE_ROUGHLY not in roughly and _LONG_ROUGHLY not in roughly:
        return False
    # A number that the text begins with has something before it too, then.
    if _LONG_NUMBER.search(b"," + text) is None:
        return False
    try:
        msgspec.json.decode(text)
    except msgspec.ValidationError:
        return True
    except msgspec.DecodeError:
        return False  # no JSON at all: the parser will say so
    return False


def is_utf8(text: bytes) -> bool:
    """The same for letters: what is passed on undecoded must be text."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
