"""Keeps a key out of all that leaves: providers quote it in errors, and a model can be talked into repeating things."""

import base64
from typing import Final

HIDDEN: Final = "[hidden]"
SHORT: Final = 6
"""A key this short is somebody's placeholder; hiding it would spoil ordinary text."""


class Hider:
    def __init__(self, key: str | None) -> None:
        self._forms: tuple[str, ...] = ()
        if key is not None and len(key) > SHORT:
            self._forms = (key, base64.b64encode(key.encode()).decode().rstrip("="))
        self.length = max(map(len, self._forms), default=0)

    def hide(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text
