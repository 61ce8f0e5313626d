"""`[openai.NAME]` of `taskyard.toml`: an address that speaks OpenAI's chat completions, and what is asked of it.

A task chooses among the models that are listed here, and nothing else: neither where its words go nor whose key pays.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from taskyard.wire.fields import NAME_CHARS_MAX

MODELS_MAX: Final = 1_000
SECONDS_MAX: Final = 24 * 3600
BYTES_MAX: Final = 64 * 1024 * 1024
OUR_OPTIONS: Final = frozenset({"model", "messages", "stream", "stream_options", "response_format", "n"})
"""Of a request; what a task or this program decides."""
OWN_KEY: Final = "TASKYARD_OPENAI_KEY"
OPENAI_KEY: Final = "OPENAI_API_KEY"
OPENAI_HOST: Final = "api.openai.com"

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")


class Endpoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    base_url: str
    """With its version, as its documentation gives it: `http://localhost:11434/v1`."""
    models: tuple[str, ...] | dict[str, str] = ()
    """Models that a task may name; with another name on the right, that is what the endpoint is told. None: ask it."""
    default_model: str | None = None
    """Of tasks that name none [the first]."""
    types: tuple[str, ...] = ()
    """Task types it serves; none: all."""
    key_env: str | None = None
    """The variable that holds its key. A key is never written into a file of ours."""
    key_header: str = "Authorization"
    system: str | None = None
    """Said to the model before every task."""
    output: Literal["text", "json"] = "text"
    options: dict[str, Any] = {}
    """More of a request, such as `temperature` or `max_tokens`."""
    connect_s: float = 10.0
    first_byte_s: float = 300.0
    # A model that is not in memory yet is loaded first, and a queue of others may be ahead.
    between_s: float = 120.0
    """Of silence in the middle of an answer."""
    timeout_s: float | None = None
    """Of the whole, whatever a task is allowed."""
    answer_bytes_max: int = 8 * 1024 * 1024
    log_bytes_max: int = 256 * 1024

    @property
    def model_names(self) -> dict[str, str]:
        """What the endpoint is told for each model that a task may name."""
        return self.models if isinstance(self.models, dict) else {name: name for name in self.models}

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    def url(self, path: str) -> str:
        return f"{self.base_url.rstrip('/')}/{path}"


class BadEndpoint(Exception):
    """What is configured cannot be used; the message says where and why."""


class _File(Struct):
    """The rest of the file is others'."""

    openai: dict[str, Endpoint] = {}


def read_endpoints(path: Path) -> dict[str, Endpoint]:
    """What the file says of endpoints; an absent file says nothing."""
    try:
        written = msgspec.toml.decode(path.read_bytes(), type=_File).openai
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadEndpoint(f"{path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadEndpoint(f"{path} is not valid: {error}.") from error
    if faults := list(faults_in(written)):
        raise BadEndpoint(f"{path} is not valid: {'; '.join(faults)}.")
    return written


def faults_in(endpoints: Mapping[str, Endpoint]) -> Iterator[str]:
    """What is wrong with them, each as half a sentence that begins with its place."""
    for name, endpoint in endpoints.items():
        yield from (f"openai.{name}.{fault}" for fault in faults_of(endpoint))


def checked(endpoint: Endpoint) -> Endpoint:
    """Raises `BadEndpoint` with all that is wrong."""
    if faults := list(faults_of(endpoint)):
        raise BadEndpoint(f"The endpoint cannot be used: {'; '.join(faults)}.")
    return endpoint


def faults_of(endpoint: Endpoint) -> Iterator[str]:
    yield from _of_address(endpoint)
    if len(endpoint.model_names) > MODELS_MAX:
        yield f"models: at most {MODELS_MAX}"
    for name, told in endpoint.model_names.items():
        if not 0 < len(name) <= NAME_CHARS_MAX or not told or not f"{name}{told}".isprintable():
            yield f"models: {name!r} is empty, longer than {NAME_CHARS_MAX} or has a control character"
    if endpoint.default_model is not None and endpoint.models and endpoint.default_model not in endpoint.model_names:
        yield "default_model must be one of models"
    for type_ in endpoint.types:
        if not 0 < len(type_) <= NAME_CHARS_MAX:
            yield f"types: a type has 1 to {NAME_CHARS_MAX} characters"
    if endpoint.key_env is not None and _VARIABLE.fullmatch(endpoint.key_env) is None:
        yield "key_env is the name of a variable, and not the key"
    if _HEADER.fullmatch(endpoint.key_header) is None:
        yield "key_header is not the name of a header"
    for name in sorted(OUR_OPTIONS & endpoint.options.keys()):
        yield f"options.{name} cannot be set here"
    yield from _of_numbers(endpoint)


def _of_address(endpoint: Endpoint) -> Iterator[str]:
    try:
        parts = urlsplit(endpoint.base_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not endpoint.base_url.isprintable() or " " in endpoint.base_url:
        yield "base_url must be an address like http://localhost:11434/v1"
        return
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        yield "base_url must have no user, password, query or fragment: a key comes from the environment (key_env)"


def _of_numbers(endpoint: Endpoint) -> Iterator[str]:
    for name in ("connect_s", "first_byte_s", "between_s", "timeout_s"):
        number = getattr(endpoint, name)
        if number is not None and not 0 < number <= SECONDS_MAX:
            yield f"{name} must be above 0 and at most {SECONDS_MAX}"
    if not 0 < endpoint.answer_bytes_max <= BYTES_MAX:
        yield f"answer_bytes_max must be from 1 to {BYTES_MAX}"
    if not 0 <= endpoint.log_bytes_max <= BYTES_MAX:
        yield f"log_bytes_max must be at most {BYTES_MAX}"


def key_names(endpoint: Endpoint) -> tuple[str, ...]:
    """The variables that its key may be in. What everybody's environment holds for OpenAI is shown to OpenAI alone."""
    if endpoint.key_env:
        return (endpoint.key_env,)
    return (OWN_KEY, OPENAI_KEY) if endpoint.host == OPENAI_HOST else (OWN_KEY,)


def key_of(endpoint: Endpoint, environment: Mapping[str, str]) -> str | None:
    """The key to show there."""
    for name in key_names(endpoint):
        key = environment.get(name, "").strip()
        if key:
            if not key.isascii() or not key.isprintable():
                raise BadEndpoint(
                    f"{name} holds something that is no key: it has a control character, or one beyond ASCII."
                )
            return key
    if endpoint.key_env is not None:
        raise BadEndpoint(f"The variable {endpoint.key_env} is not set; it should hold the key for {endpoint.host}.")
    return None
