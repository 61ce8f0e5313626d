"""What the yard puts its name under: task tokens, and texts that come back from a browser.

A token is its task's id and attempt number under a keyed hash, so it needs no row and survives a restart; it dies with
the attempt because the core believes the newest attempt only. A sealed text is the same for whatever a gateway hands
out: everybody can read it, and only a hub of this yard can make it.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import b2a_base64
from hashlib import blake2b
from typing import Final

from taskyard.vocabulary import TOKEN_PREFIX

_MAC_BYTES: Final = 18
# A multiple of 3, so that base64 needs no padding.
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_PERSON: Final = b"taskyard seal"
# Keeps the keys of seals apart from everything else that is hashed with the yard's secret.


class Tokens:
    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._keyed = blake2b(key=secret, digest_size=_MAC_BYTES)

    def make(self, task_id: str, attempt: int) -> str:
        name = f"{task_id}.{attempt}"
        mac = self._keyed.copy()
        mac.update(_bytes(name))
        # As `urlsafe_b64encode`, with two calls less: every start of every task has one.
        return f"{TOKEN_PREFIX}{name}.{b2a_base64(mac.digest(), newline=False).translate(_URL_SAFE).decode()}"

    def read(self, token: str) -> tuple[str, int] | None:
        """The attempt a token was made for; None if we did not make it."""
        task_id, _, rest = token.removeprefix(TOKEN_PREFIX).partition(".")
        number, _, _ = rest.partition(".")
        if not (number.isascii() and number.isdecimal() and len(number) < 10):
            return None
        attempt = int(number)
        is_ours = hmac.compare_digest(_bytes(self.make(task_id, attempt)), _bytes(token))
        return (task_id, attempt) if is_ours else None

    def seal(self, purpose: str, text: str) -> str:
        """The text, in characters that a cookie and an address can hold. Under another purpose it opens nothing."""
        content = urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return f"{content}.{self._mac(purpose, content)}"

    def unseal(self, purpose: str, sealed: str) -> str | None:
        """The text; None if no hub of this yard sealed exactly this for that purpose."""
        content, _, mac = sealed.rpartition(".")
        if not hmac.compare_digest(_bytes(self._mac(purpose, content)), _bytes(mac)):
            return None
        return urlsafe_b64decode(content + "=" * (-len(content) % 4)).decode()

    def _mac(self, purpose: str, content: str) -> str:
        # What is hashed is the text as it travels, not what it decodes to: base64 has several spellings of one text.
        key = blake2b(purpose.encode(), key=self._secret, person=_PERSON).digest()
        return urlsafe_b64encode(blake2b(_bytes(content), key=key, digest_size=_MAC_BYTES).digest()).decode()


def _bytes(text: str) -> bytes:
    """A header may hold anything, also what has no encoding."""
    return text.encode(errors="surrogatepass")
