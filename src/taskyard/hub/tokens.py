"""Task tokens: what an attempt shows to speak for itself.

A token is its task's id and attempt number under a keyed hash, so it needs no row and survives a restart; it dies with
the attempt because the core believes the newest attempt only.
"""

import hmac
from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import Final

PREFIX: Final = "tyt_"
_MAC_BYTES: Final = 18


class Tokens:
    def __init__(self, secret: bytes) -> None:
        self._keyed = blake2b(key=secret, digest_size=_MAC_BYTES)

    def make(self, task_id: str, attempt: int) -> str:
        name = f"{task_id}.{attempt}"
        mac = self._keyed.copy()
        mac.update(name.encode(errors="surrogatepass"))
        return f"{PREFIX}{name}.{urlsafe_b64encode(mac.digest()).decode()}"

    def read(self, token: str) -> tuple[str, int] | None:
        """The attempt a token was made for; None if we did not make it."""
        task_id, _, rest = token.removeprefix(PREFIX).partition(".")
        number, _, _ = rest.partition(".")
        if not (number.isascii() and number.isdecimal() and len(number) < 10):
            return None
        attempt = int(number)
        # A header may hold anything, also what has no encoding.
        ours, theirs = (text.encode(errors="surrogatepass") for text in (self.make(task_id, attempt), token))
        is_ours = hmac.compare_digest(ours, theirs)
        return (task_id, attempt) if is_ours else None
