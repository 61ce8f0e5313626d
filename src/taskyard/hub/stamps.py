"""What a hub hands out without asking anybody: ids, secrets, and what bears the yard's name. Leading or not."""

from taskyard.hub.ids import Mint, mint_secret
from taskyard.hub.tokens import Tokens


class Stamps:
    """The part of `gateway/port.py` that every hub and every gateway answers by itself."""

    def __init__(self, secret: bytes) -> None:
        self._mint = Mint()
        self._tokens = Tokens(secret)

    def mint(self) -> str:
        return self._mint.id()

    def mint_secret(self) -> str:
        return mint_secret()

    def attempt_of(self, token: str) -> tuple[str, int] | None:
        return self._tokens.read(token)

    def seal(self, purpose: str, text: str) -> str:
        return self._tokens.seal(purpose, text)

    def unseal(self, purpose: str, sealed: str) -> str | None:
        return self._tokens.unseal(purpose, sealed)
