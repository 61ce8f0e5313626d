"""What a delivery brings, each provider's way."""

from urllib.parse import urlencode

import msgspec
import pytest

from taskyard.gateway.call import RequestRefused
from taskyard.gateway.deliveries import Delivery, read
from taskyard.gateway.signatures import RawHeaders
from taskyard.vocabulary import HookProvider
from tests.gateway.test_signatures import SLACK_BODY, STRIPE_BODY

GITHUB, STRIPE, SLACK, GENERIC = HookProvider
FROM_GITHUB = [(b"x-github-event", b"push"), (b"x-github-delivery", b"72d3162e-cc78-11ed")]
FORM = (b"content-type", b"application/x-www-form-urlencoded")


def brought(provider: HookProvider, body: object, headers: RawHeaders = ()) -> Delivery:
    return read(provider, headers, body if isinstance(body, bytes) else msgspec.json.encode(body))


def refusal(body: bytes, headers: RawHeaders = FROM_GITHUB, provider: HookProvider = GITHUB) -> str:
    with pytest.raises(RequestRefused) as refused:
        read(provider, headers, body)
    assert refused.value.code == "INVALID_INPUT"
    return refused.value.detail


# --- ids and events ----------------------------------------------------------------------------------------


def test_github_names_event_and_delivery_in_its_headers() -> None:
    assert brought(GITHUB, {"a": 1}, FROM_GITHUB) == Delivery("72d3162e-cc78-11ed", "push", {"a": 1})
    assert brought(GITHUB, {}, FROM_GITHUB[1:]).event == ""


@pytest.mark.parametrize("headers", [FROM_GITHUB[:1], [*FROM_GITHUB, FROM_GITHUB[1]], [(b"x-github-delivery", b"")]])
def test_a_delivery_of_githubs_without_an_id_is_refused(headers: RawHeaders) -> None:
    assert refusal(b"{}", headers) == "X-GitHub-Delivery must be there, once."


def test_githubs_ping_is_a_greeting() -> None:
    ping = brought(GITHUB, {"zen": "Design for failure."}, [(b"x-github-event", b"ping"), FROM_GITHUB[1]])
    assert (ping.is_greeting, ping.challenge) == (True, None)


def test_stripe_names_both_in_the_event() -> None:
    event = brought(STRIPE, STRIPE_BODY)
    assert (event.id, event.event, event.is_greeting) == ("evt_123", "customer.created", False)


def test_slack_names_the_event_inside_its_envelope() -> None:
    envelope = {"type": "event_callback", "event_id": "Ev08", "event": {"type": "app_mention", "text": "hi"}}
    event = brought(SLACK, envelope)
    assert (event.id, event.event) == ("Ev08", "app_mention")
    assert brought(SLACK, {"type": "event_callback", "event_id": "Ev08", "event": 7}).event == ""
    assert brought(SLACK, {"type": "view_submission", "trigger_id": "1.2"}).event == "view_submission"


def test_slacks_url_verification_is_given_its_challenge_back() -> None:
    asked = brought(SLACK, {"type": "url_verification", "challenge": "3eZb", "token": "x"})
    assert (asked.is_greeting, asked.challenge) == (True, "3eZb")
    assert brought(SLACK, {"type": "url_verification"}).challenge == ""
    assert brought(STRIPE, {"type": "url_verification", "challenge": "3eZb"}).challenge is None


def test_a_command_of_slacks_is_its_form() -> None:
    command = brought(SLACK, SLACK_BODY, [FORM])
    assert command.id == "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    assert command.event == "/webhook-collect"
    assert isinstance(command.payload, dict)
    assert (command.payload["user_name"], command.payload["text"]) == ("roadrunner", "")


def test_standard_webhooks_have_the_id_in_a_header_and_the_type_inside() -> None:
    message = brought(GENERIC, {"type": "invoice.paid", "data": {}}, [(b"webhook-id", b"msg_1")])
    assert (message.id, message.event) == ("msg_1", "invoice.paid")


@pytest.mark.parametrize("provider", [STRIPE, SLACK])
@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"7", b'"x"', b"null", b'{"id":7,"event_id":[]}', b'{"id":"%b"}' % (b"x" * 256)]
)
def test_where_there_is_no_id_the_same_bytes_are_the_same_delivery(provider: HookProvider, body: bytes) -> None:
    first, again, other = (brought(provider, each) for each in (body, body, body + b" "))
    assert first.id == again.id != other.id
    assert first.id.startswith("sha256:")
    assert first.event == ""


def test_a_key_is_the_hooks_and_the_deliverys_and_always_short() -> None:
    assert Delivery("d-1", "", None).key("wh_1") == "hook:wh_1:d-1"
    keys = [Delivery(odd, "", None).key("wh_1") for odd in ("x" * 129, "with space", "größe", "\0", "")]
    assert len(set(keys)) == len(keys)
    assert all(len(key) < 100 and ":sha256:" in key for key in keys)


@pytest.mark.parametrize(
    ("events", "is_taken"),
    [
        ((), True),
        (("pull_request",), True),
        (("push", "pull_request.opened"), True),
        (("pull_request.closed",), False),
        (("opened",), False),
        (("pull",), False),
    ],
)
def test_a_hook_takes_all_events_or_those_it_names(events: tuple[str, ...], is_taken: bool) -> None:
    assert Delivery("d", "pull_request", {"action": "opened"}).is_among(events) is is_taken


def test_an_event_without_an_action_goes_by_its_name() -> None:
    assert Delivery("d", "push", {}).is_among(("push",))
    assert not Delivery("d", "push", {"action": ""}).is_among(("push.",))
    assert not Delivery("d", "", []).is_among(("push",))


# --- forms -------------------------------------------------------------------------------------------------


def test_githubs_form_holds_the_payload_as_json() -> None:
    body = urlencode({"payload": '{"ref":"refs/heads/größe"}'}).encode()
    form = (b"content-type", b"Application/X-WWW-Form-Urlencoded; charset=utf-8")
    assert brought(GITHUB, body, [*FROM_GITHUB, form]).payload == {"ref": "refs/heads/größe"}


@pytest.mark.parametrize("body", [b'{"a": "b=1&c"}', b'\n {"a": "b=1&c"}'])
def test_json_that_calls_itself_a_form_is_json(body: bytes) -> None:
    assert brought(GITHUB, body, [*FROM_GITHUB, FORM]).payload == {"a": "b=1&c"}
    assert brought(STRIPE, b"[1]", [FORM]).payload == [1]


@pytest.mark.parametrize("body", [b"a=%ff", b"a=\xff", b"&".join([b"a=1"] * 101)])
def test_a_form_that_cannot_be_read_is_refused(body: bytes) -> None:
    assert refusal(body, [*FROM_GITHUB, FORM]) == "The form cannot be read; send JSON instead."


def test_a_form_whose_payload_is_not_json_is_refused() -> None:
    assert refusal(b"payload=%7B", [*FROM_GITHUB, FORM]) == "The body is not valid JSON."


# --- what no reader takes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "The body is not valid JSON."),
        (b"Hello, World!", "The body is not valid JSON."),
        (b'{"a":', "The body is not valid JSON."),
        (b'{"a":"\x00"}', "The body is not valid JSON."),
        (b'{"a":"\\ud800"}', "The body is not valid JSON."),
        (b'{"a":"\xff"}', "The body is not UTF-8."),
        (b'{"a":1e999}', "A number is beyond what JSON readers can hold; send it as text."),
        (b'{"a":' + b"9" * 5000 + b"}", "A number is beyond what JSON readers can hold; send it as text."),
        (b"[" * 65 + b"]" * 65, "The JSON nests deeper than 64 levels."),
        (b"[" * 1_000_000, "The JSON nests deeper than 64 levels."),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "The JSON nests deeper than 64 levels."),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(body: bytes, detail: str) -> None:
    assert refusal(body) == detail


def test_a_zero_character_is_replaced_and_not_a_reason_to_lose_a_delivery() -> None:
    assert brought(GITHUB, b'{"a":"x\\u0000y"}', FROM_GITHUB).payload == {"a": "x\ufffdy"}
    assert brought(SLACK, b"text=x%00y", [FORM]).payload == {"text": "x\ufffdy"}
