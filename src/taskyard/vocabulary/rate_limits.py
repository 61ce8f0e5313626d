"""How a provider says that it refuses for now. Hub and daemons read it alike."""

import re
from typing import Final

# The words of a provider's refusal. `429` counts only as a number of its own beside a word of error: agents
# print numbers all day.
_RATE_WORDS: Final = re.compile(
    r"(?<![a-z])(rate[ _-]?limit|too many requests|quota exceeded|retry-after)", re.IGNORECASE
)
_RATE_NUMBER: Final = re.compile(
    r"(error|status|http|code|failed|refused)\W{0,8}429(?!\d)|(?<!\d)429\W{0,8}(error|too many)",
    re.IGNORECASE,
)


def says_rate_limited(text: str) -> bool:
    """Whether an error's own text says that its provider refuses for now. Never asked of an agent's output."""
    return _RATE_WORDS.search(text) is not None or _RATE_NUMBER.search(text) is not None
