"""A message of the Model Context Protocol, as far as the gateway looks into it."""

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType, field


class McpMessage(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """JSON-RPC: a request, a notification, or the answer to one. What it asks is for the protocol's own library."""

    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class McpMeta(Struct, rename={"progress_token": "progressToken"}):
    progress_token: int | str | None = None


class McpToolCall(Struct, rename={"meta": "_meta"}):
    """The parameters of a call of a tool, as far as they decide how it is answered."""

    name: str
    meta: McpMeta = field(default_factory=McpMeta)
