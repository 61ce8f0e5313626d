"""How deeply a JSON text nests, and whether it hides a NUL, found out before anything parses it.

A parser follows nesting by calling itself, so depth is what a hostile text spends our stack with. The
check is linear and runs at the speed of `bytes.replace`: brackets outside strings are kept, and each
pass removes the innermost pairs. A text that nests `n` deep is empty after `n` passes.
"""

import re
from typing import Final

DEPTH_MAX: Final = 64

_NOT_STRUCTURE: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ONE_KIND: Final = bytes.maketrans(b"[]", b"{}")
_STRING: Final = re.compile(rb'"[^"]*"')
# Deeper than any limit asked for here: what wraps a value adds three levels at most.
_PLAINLY_DEEP: Final = re.compile(rb"\{{%d}" % (DEPTH_MAX + 4))
# An escaped backslash. Taken out pair by pair from the left, what is left of a run of backslashes is the one
# that escapes what follows it. An expression that walks a string escape by escape would need a gigabyte for
# a hostile body of 16 MiB, and quadratic time if the string does not end.
_PAIR: Final = b"\\\\"


def is_too_deep(text: bytes, depth_max: int = DEPTH_MAX) -> bool:
    """Whether it nests deeper than this. Of a text that is no JSON this says nothing: the parser will."""
    if text.count(b"{") + text.count(b"[") <= depth_max:
        return False
    rest = _brackets(text)
    if _PLAINLY_DEEP.search(rest):
        return True
    for _ in range(depth_max):
        shorter = rest.replace(b"{}", b"")
        if not shorter or len(shorter) == len(rest):
            return False
        rest = shorter
    return True


def _brackets(text: bytes) -> bytes:
    """The brackets outside strings, all of one kind: two kinds in one pass would lose count of `[{}]`."""
    if b"\\" in text:
        text = text.replace(_PAIR, b"").replace(b'\\"', b"")
    return _STRING.sub(b"", text.translate(_ONE_KIND, _NOT_STRUCTURE))


def has_nul(text: bytes) -> bool:
    """Whether a string in this JSON text contains U+0000, which no text column of a database takes."""
    return b"\\u0000" in text and b"\\u0000" in text.replace(_PAIR, b"")


def without_nul(text: bytes) -> bytes:
    """The same text with U+FFFD in place of U+0000: what an agent said is kept, not refused."""
    if b"\\u0000" not in text:
        return text
    return _PAIR.join(part.replace(b"\\u0000", b"\\ufffd") for part in text.split(_PAIR))
