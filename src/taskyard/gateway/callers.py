"""Who may call a route, in words."""

from typing import Final

from taskyard.gateway.route import Policy, TokenUse
from taskyard.vocabulary import Scope

_TOKENS: Final = {
    TokenUse.NONE: "",
    TokenUse.CALLBACK: "the token of the attempt",
    TokenUse.SUBTASKS: "a running task's token, for its own sub-tasks",
}


def callers_of(policy: Policy) -> str:
    if policy.signed:
        return "any sender that signs the body with the hook's secret, without a key"
    if policy.keyed:
        return "any caller that has a key, in the body"
    if policy.public:
        return "any caller, without a key"
    scopes = [f"`{scope}`" for scope in Scope if scope in policy.scopes]
    allowed = "any key" if len(scopes) == len(Scope) else f"a key with the scope {' or '.join(scopes)}"
    token = _TOKENS[policy.token]
    return f"{allowed}; or {token}" if token else allowed
