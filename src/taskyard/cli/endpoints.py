"""Which OpenAI-compatible addresses a daemon serves: by address, or by their name in the configuration file."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from taskyard.daemon.openai.agent import OpenAIAgent
    from taskyard.daemon.openai.configuration import Endpoint

HINT: Final = "--openai"


def endpoints_of(
    *,
    asked: list[str],
    models: list[str] | None,
    types: list[str] | None,
    key_env: str | None,
    config: Path,
) -> "list[OpenAIAgent]":
    """Raises `typer.BadParameter` for what cannot be served, before anything was begun."""
    import asyncio

    from taskyard.daemon.openai.agent import OpenAIAgent
    from taskyard.daemon.openai.configuration import BadEndpoint

    if not asked and (models or key_env):
        raise typer.BadParameter("this is about --openai URL", param_hint="--model" if models else "--key-env")
    if len(asked) > 1 and (models or types or key_env):
        raise typer.BadParameter(
            "several are served: say in the configuration file which types, models and key each has", param_hint=HINT
        )
    try:
        agents = [OpenAIAgent(_limited(_found(one, config), models, types, key_env)) for one in asked]
        for agent in agents:
            asyncio.run(agent.ask_models())
    except BadEndpoint as error:
        raise typer.BadParameter(str(error), param_hint=HINT) from error
    return agents


def _found(asked: str, config: Path) -> "Endpoint":
    from taskyard.daemon.openai.configuration import BadEndpoint, Endpoint, read_endpoints

    if "://" in asked:
        return Endpoint(base_url=asked)
    known = read_endpoints(config)
    if asked not in known:
        raise BadEndpoint(
            f"{asked} is neither an address like http://localhost:11434/v1 nor a section openai.{asked} of {config}."
        )
    return known[asked]


def _limited(
    endpoint: "Endpoint", models: list[str] | None, types: list[str] | None, key_env: str | None
) -> "Endpoint":
    """What was said on the command line goes before the file."""
    from msgspec.structs import replace

    if models:
        known = endpoint.model_names
        endpoint = replace(endpoint, models={name: known.get(name, name) for name in models}, default_model=models[0])
    if types is not None:
        endpoint = replace(endpoint, types=tuple(types))
    return replace(endpoint, key_env=key_env) if key_env else endpoint
