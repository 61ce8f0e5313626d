"""Serves tasks with a model behind an OpenAI-compatible address. To the runner it is an async function like any other.

    agent = OpenAIAgent(Endpoint(base_url="http://localhost:11434/v1", models=("llama3",)))
    result = await agent(task, context)

One connection per attempt: cancelling it closes the connection, which is how such servers learn that nobody wants the
answer any more. Redirects are not followed, no cookies are kept, and of a refusal only its beginning is read.
"""

import asyncio
import logging
import os
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from msgspec.structs import replace

from taskyard.daemon.context import Context
from taskyard.daemon.openai.configuration import MODELS_MAX, BadEndpoint, Endpoint, checked, key_names, key_of
from taskyard.daemon.openai.failures import complaint, redirected, refusal
from taskyard.daemon.openai.request import body_of, form_of, result_of, unfinished
from taskyard.daemon.openai.secrets import Hider
from taskyard.daemon.openai.stream import BadAnswer, Completion, Lines, TooLong, read
from taskyard.daemon.openai.telling import Telling
from taskyard.daemon.task import Result, Task, TaskError
from taskyard.vocabulary import ErrorCode
from taskyard.wire.fields import NAME_CHARS_MAX

REFUSAL_BYTES_MAX: Final = 64 * 1024
MODELS_BYTES_MAX: Final = 4 * 1024 * 1024
MODELS_S: Final = 15.0
OVERHEAD: Final = 64
"""How many bytes may come for each byte of answer: a delta of one letter is a record of a few hundred."""
CUT_OFF: Final = "the answer was cut off"

_encode: Final = msgspec.json.encode

logger = logging.getLogger("taskyard.daemon")


class OpenAIAgent:
    def __init__(self, endpoint: Endpoint, *, environment: Mapping[str, str] | None = None) -> None:
        """Raises `BadEndpoint`. Its key is taken from `environment`, or else the process's own."""
        self.endpoint = checked(endpoint)
        key = key_of(endpoint, os.environ if environment is None else environment)
        self._hider = Hider(key)
        self._headers = {
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",  # a few bytes could stand for very many, and a stream would be held back
            "User-Agent": "taskyard",
        }
        if key is not None:
            is_bearer = endpoint.key_header.lower() == "authorization"
            self._headers[endpoint.key_header] = f"Bearer {key}" if is_bearer else key
        self._counts_tokens = True

    async def ask_models(self) -> None:
        """Serve the models that the endpoint has, unless some are configured. Raises `BadEndpoint`."""
        if self.endpoint.models:
            return
        try:
            async with (
                asyncio.timeout(MODELS_S),
                self._session() as session,
                session.get(self.endpoint.url("models"), allow_redirects=False, proxy=self._proxy) as answer,
            ):
                if answer.status != HTTPStatus.OK:
                    raise await self._refusal(answer)
                content = await self._beginning(answer, MODELS_BYTES_MAX)
            listed = read(content).get("data")
        except (TimeoutError, aiohttp.ClientError, OSError, TaskError, BadAnswer) as error:
            answered = f"is its key in {' or '.join(key_names(self.endpoint))} right? Else name them with --model."
            instead = answered if isinstance(error, TaskError) else "start it first, or name them with --model."
            raise BadEndpoint(
                f"{self.endpoint.host} did not say which models it has ({self._said(error)}): {instead}"
            ) from error
        entries = listed if isinstance(listed, list) else []
        names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
        fit = [
            name for name in names if isinstance(name, str) and 0 < len(name) <= NAME_CHARS_MAX and name.isprintable()
        ]
        if not fit:
            raise BadEndpoint(f"{self.endpoint.host} has no models yet: load one, or name them with --model.")
        self.endpoint = checked(replace(self.endpoint, models=tuple(dict.fromkeys(fit[:MODELS_MAX]))))

    async def __call__(self, task: Task, context: Context) -> Result:
        endpoint = self.endpoint
        wants_json = (form_of(endpoint, task) or {}).get("type", "text") != "text"
        completion = Completion(endpoint.answer_bytes_max)
        try:
            async with asyncio.timeout(endpoint.timeout_s):
                await self._converse(task, context, completion)
        except TimeoutError as error:
            raise self._unfinished(
                completion, context, ErrorCode.EXECUTION_TIMEOUT, _over(endpoint.timeout_s)
            ) from error
        except asyncio.CancelledError:
            _save(completion, context, self._hider)
            raise
        return result_of(
            self._hider.hide(completion.text),
            finish_reason=completion.finish_reason,
            calls_tools=completion.calls_tools,
            wants_json=wants_json,
            usage=completion.usage,
        )

    # --- one conversation ------------------------------------------------------------------------------------

    async def _converse(self, task: Task, context: Context, completion: Completion) -> None:
        asked_for_usage = self._counts_tokens
        body = _encode(body_of(self.endpoint, task, counts_tokens=asked_for_usage))
        try:
            async with self._session() as session:
                answer = await self._answer(session, body)
                try:
                    if answer.status == HTTPStatus.OK:
                        await self._take(answer, context, completion)
                        return
                    failure = await self._refusal(answer)
                finally:
                    answer.close()
        except TooLong as error:
            raise TaskError("ANSWER_TOO_LONG", f"the answer is not taken: {error}", retryable=False) from error
        except BadAnswer as error:
            raise self._unfinished(completion, context, "BAD_ANSWER", str(error)) from error
        except (aiohttp.ClientError, OSError) as error:
            said = self._said(error)
            raise self._unfinished(completion, context, ErrorCode.CONNECTION_LOST, said) from error
        if not asked_for_usage or failure.retryable is not False or "stream_options" not in failure.message:
            raise failure
        self._counts_tokens = False
        logger.warning("%s does not know stream_options: what it used will not be known", self.endpoint.host)
        await self._converse(task, context, completion)

    async def _answer(self, session: aiohttp.ClientSession, body: bytes) -> aiohttp.ClientResponse:
        endpoint = self.endpoint
        asking = session.post(
            endpoint.url("chat/completions"),
            data=body,
            headers={"Content-Type": "application/json"},
            allow_redirects=False,
            proxy=self._proxy,
        )
        try:
            return await asyncio.wait_for(asking, endpoint.first_byte_s)
        except aiohttp.ClientError:
            raise
        except TimeoutError as error:
            raise aiohttp.ServerTimeoutError(f"no answer began within {endpoint.first_byte_s:g} s") from error

    async def _take(self, answer: aiohttp.ClientResponse, context: Context, completion: Completion) -> None:
        """The whole answer. Raises what is wrong with it."""
        if answer.content_type == "application/json":
            content = await self._beginning(answer, self.endpoint.answer_bytes_max * OVERHEAD)
            completion.take_object(read(content), "message")
            completion.is_done = True
        else:
            await self._follow(answer, context, completion)
        if completion.error is not None:
            failure = complaint(completion.error, now_s=time.time())
            failure.usage = completion.usage
            _save(completion, context, self._hider)
            raise self._without_key(failure)
        if completion.finish_reason is None and not completion.is_done:
            raise aiohttp.ClientPayloadError(CUT_OFF)

    async def _follow(self, answer: aiohttp.ClientResponse, context: Context, completion: Completion) -> None:
        lines = Lines()
        telling = Telling(context, self._hider, self.endpoint.log_bytes_max)
        room = self.endpoint.answer_bytes_max * OVERHEAD
        wait_s = self.endpoint.first_byte_s
        try:
            while not completion.is_done:
                chunk = await _chunk(answer, wait_s)
                room -= len(chunk)
                if room < 0:
                    raise TooLong("far more came than belongs to an answer")
                for payload in lines.feed(chunk) if chunk else lines.end():
                    if text := completion.take(payload):
                        telling.add(text, completion.characters)
                        wait_s = self.endpoint.between_s
                if not chunk or completion.error is not None:
                    return
        finally:
            telling.end()

    # --- around it -------------------------------------------------------------------------------------------

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.endpoint.connect_s),
            auto_decompress=False,
            trust_env=False,
        )

    @property
    def _proxy(self) -> str | None:
        """What the environment says, without what `.netrc` holds, which a client that trusts both would send along."""
        parts = urlsplit(self.endpoint.base_url)
        is_direct = _is_local(self.endpoint.host) or proxy_bypass(self.endpoint.host)
        return None if is_direct else getproxies().get(parts.scheme)

    async def _refusal(self, answer: aiohttp.ClientResponse) -> TaskError:
        if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
            parts = urlsplit(answer.headers.get("Location", ""))
            return redirected(answer.status, f"{parts.scheme}://{parts.hostname}" if parts.hostname else "another path")
        content = await self._beginning(answer, REFUSAL_BYTES_MAX)
        return self._without_key(refusal(answer.status, dict(answer.headers), content, now_s=time.time()))

    async def _beginning(self, answer: aiohttp.ClientResponse, bytes_max: int) -> bytes:
        """At most so much; what is longer is cut, and so is no JSON any more."""
        content = bytearray()
        while len(content) < bytes_max and (chunk := await _chunk(answer, self.endpoint.first_byte_s)):
            content += chunk
        return bytes(content[:bytes_max])

    def _without_key(self, failure: TaskError) -> TaskError:
        """A new one: an exception keeps its first words wherever it goes."""
        told = self._hider.hide(failure.message)
        return TaskError(failure.code, told, retryable=failure.retryable, details=failure.details, usage=failure.usage)

    def _unfinished(self, completion: Completion, context: Context, code: str, said: str) -> TaskError:
        """It broke on the way: what there is of an answer is kept for the next attempt."""
        _save(completion, context, self._hider)
        far = f" after {completion.characters} characters" if completion.characters else ""
        return TaskError(code, f"{self.endpoint.host}: {said}{far}", usage=completion.usage)

    def _said(self, error: BaseException) -> str:
        if isinstance(error, aiohttp.ClientPayloadError):
            return CUT_OFF  # the library's own words quote a status that nobody sent
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return f"its certificate is not trusted: {error.certificate_error}"
        if isinstance(error, aiohttp.ClientConnectorError):
            return f"it cannot be reached: {error.os_error.strerror or error.os_error}"
        return self._hider.hide(str(error) or type(error).__name__)


def _save(completion: Completion, context: Context, hider: Hider) -> None:
    if completion.characters:
        context.checkpoint(unfinished(hider.hide(completion.text)))


def _over(timeout_s: float | None) -> str:
    return f"the answer took longer than {timeout_s:g} s" if timeout_s is not None else "the answer took too long"


async def _chunk(answer: aiohttp.ClientResponse, wait_s: float) -> bytes:
    """What came, empty at the end."""
    try:
        return await asyncio.wait_for(answer.content.readany(), wait_s)
    except aiohttp.ClientError:
        raise
    except TimeoutError as error:
        raise aiohttp.ServerTimeoutError(f"it fell silent for {wait_s:g} s") from error


def _is_local(host: str) -> bool:
    return host in ("localhost", "127.0.0.1", "::1")
