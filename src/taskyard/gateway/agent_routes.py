"""The routes of agents: those that pull, and those that speak a protocol of their own. `routes.py` has the others."""

from typing import Any, Final

from taskyard.gateway import mcp
from taskyard.gateway.call import Empty
from taskyard.gateway.rest import claims
from taskyard.gateway.route import ANYONE_OR_TOKEN, Policy, Route
from taskyard.vocabulary import Refusal, Scope
from taskyard.wire.claims import Claim, ClaimAnswer

MCP_PATH: Final = "/mcp"

CLAIM_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        method="POST",
        path="/api/v1/claim",
        policy=Policy(scopes=frozenset({Scope.DAEMON})),
        handler=claims.claim,
        summary="Pull one task, for agents without a socket; 204 if none came in `wait_s`",
        description=(
            "The task counts as started. Its `token` authorises the calls about this attempt; one of them within "
            "each `lease_s` seconds keeps it."
        ),
        body=Claim,
        query=Empty,
        answer=ClaimAnswer,
        nothing_status=claims.NOTHING_STATUS,
    ),
)
MCP_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        method="POST",
        path=MCP_PATH,
        policy=ANYONE_OR_TOKEN,
        handler=mcp.serve,
        summary="Tools for agents, by the Model Context Protocol (docs/mcp.md)",
        body=bytes,
        query=Empty,
        answer=dict[str, Any],
        is_batch=True,
        refusals=(Refusal.NOT_FOUND,),
        is_described=False,
    ),
)
AGENT_ROUTES: Final = (*CLAIM_ROUTES, *MCP_ROUTES)
