"""The headers that each provider would send with a delivery."""

import base64
import hmac


def signed(
    provider: str, secret: str, body: bytes, *, delivery: str = "d-1", event: str = "push", at_s: int = 0
) -> dict[str, str]:
    key, at = secret.encode(), str(at_s)
    match provider:
        case "github":
            signature = f"sha256={_hex(key, body)}"
            return {"x-hub-signature-256": signature, "x-github-event": event, "x-github-delivery": delivery}
        case "stripe":
            return {"stripe-signature": f"t={at},v1={_hex(key, f'{at}.'.encode() + body)}"}
        case "slack":
            signature = f"v0={_hex(key, f'v0:{at}:'.encode() + body)}"
            return {"x-slack-signature": signature, "x-slack-request-timestamp": at}
        case _:
            key = base64.b64decode(secret.removeprefix("whsec_"))
            digest = hmac.digest(key, f"{delivery}.{at}.".encode() + body, "sha256")
            signature = f"v1,{base64.b64encode(digest).decode()}"
            return {"webhook-id": delivery, "webhook-timestamp": at, "webhook-signature": signature}


def _hex(key: bytes, content: bytes) -> str:
    return hmac.digest(key, content, "sha256").hex()
