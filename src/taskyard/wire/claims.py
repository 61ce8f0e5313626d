"""What an agent without a socket says to get a task, and what it is given."""

from typing import Annotated

from msgspec import Meta, Raw, Struct

from taskyard.wire.fields import WAIT_S_MAX, JsonValue, Name, Names


def _list_of(schema: str) -> Meta:
    """What is handed on still encoded, said with the schema of the answer that it was made as."""
    return Meta(extra_json_schema={"type": "array", "items": {"$ref": f"#/components/schemas/{schema}"}})


class Claim(Struct, forbid_unknown_fields=True, kw_only=True):
    """`types` and `models` that are empty mean all."""

    name: Name
    capabilities: Names = []
    types: Names = []
    models: Names = []
    wait_s: Annotated[float, Meta(ge=0, le=WAIT_S_MAX)] = 20


class ClaimAnswer(Struct, kw_only=True):
    """The task and its attempt, which counts as started. A word by `token` within each `lease_s` seconds keeps it."""

    task: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    attempt: int
    token: str
    lease_s: float
    timeout: float
    context_input: Annotated[Raw, _list_of("ContextInput")]
    checkpoint: JsonValue
    previous_attempts: Annotated[Raw, _list_of("AttemptAnswer")]
