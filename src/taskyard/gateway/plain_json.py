"""What is asked of every JSON text before anything decodes it, and what is said of one that fails.

Values that we only pass on are not decoded at the edge; one that no reader could take would be found by whoever reads
it last.
"""

from taskyard.gateway.call import RequestRefused
from taskyard.gateway.duplicates import Shape, repeated
from taskyard.vocabulary import Refusal
from taskyard.wire.depth import DEPTH_MAX, has_nul, has_wild_number, is_too_deep, is_utf8
from taskyard.wire.invalid import sentence_of


def check(raw: bytes, *, wraps: int) -> None:
    """`wraps`: how many levels stand around a value whose own depth is bounded."""
    if is_too_deep(raw, DEPTH_MAX + wraps):
        raise too_deep()
    if has_nul(raw):
        raise nul_inside()
    if not is_utf8(raw):
        raise RequestRefused(Refusal.INVALID_INPUT, "The body is not UTF-8.")
    if has_wild_number(raw):
        raise RequestRefused(Refusal.INVALID_INPUT, "A number is beyond what JSON readers can hold; send it as text.")


def check_names(raw: bytes, shape: Shape) -> None:
    """Of JSON that was decoded: no object that the hub reads may have two members of one name."""
    fault = repeated(raw, shape)
    if fault is not None:
        raise RequestRefused(Refusal.INVALID_INPUT, sentence_of(fault), errors=(fault,))


def too_deep() -> RequestRefused:
    return RequestRefused(Refusal.INVALID_INPUT, f"The JSON nests deeper than {DEPTH_MAX} levels.")


def nul_inside() -> RequestRefused:
    return RequestRefused(Refusal.INVALID_INPUT, "Strings must not contain U+0000.")


def not_json() -> RequestRefused:
    return RequestRefused(Refusal.INVALID_INPUT, "The body is not valid JSON.")
