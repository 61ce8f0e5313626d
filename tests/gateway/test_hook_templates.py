"""Templates: what a delivery puts into a task, and what it cannot."""

import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw, UnsetType

from taskyard.core.settings import Sizes
from taskyard.gateway.deliveries import Delivery
from taskyard.gateway.hook_templates import fill, fill_object, filled, read_template, unfilled, write_template
from taskyard.gateway.sizes import oversize_of
from taskyard.vocabulary import HookProvider, Level, SourceType
from taskyard.wire.hooks import HookTemplate
from taskyard.wire.submission import Execution, Requirements

PAYLOAD = {
    "title": "Fix it",
    "number": 7,
    "price": 1.5,
    "draft": False,
    "merged": True,
    "body": None,
    "user": {"login": "ann", "name-1": "Ann A.", "0": "zero"},
    "labels": [{"name": "bug"}, {"name": "größe"}],
    "sneaky": "{{event}} {{payload.user.login}}",
}
DELIVERY = Delivery("d-1", "pull_request", PAYLOAD)
ROOM = 256 * 1024


def decoded(raw: Raw | UnsetType) -> object:
    assert isinstance(raw, Raw)
    return msgspec.json.decode(raw)


def text_of(template: str, delivery: Delivery = DELIVERY) -> str:
    return fill(template, delivery, ROOM)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("PR {{payload.title}}", "PR Fix it"),
        ("{{event}} {{delivery}}", "pull_request d-1"),
        ("{{ payload.user.login }}/{{  event  }}", "ann/pull_request"),
        ("{{payload.labels.0.name}}, {{payload.labels.1.name}}", "bug, größe"),
        ("{{payload.user.name-1}} {{payload.user.0}}", "Ann A. zero"),
        ("{{payload.number}} {{payload.price}} {{payload.draft}} {{payload.merged}}", "7 1.5 false true"),
        ("{{payload.user}}", '{"login":"ann","name-1":"Ann A.","0":"zero"}'),
        ("{{payload.labels}}", '[{"name":"bug"},{"name":"größe"}]'),
        ("no places", "no places"),
        ("", ""),
    ],
)
def test_what_was_delivered_is_put_in_its_place(template: str, text: str) -> None:
    assert text_of(template) == text


@pytest.mark.parametrize(
    "place",
    [
        "{{payload.nothing}}",
        "{{payload.body}}",
        "{{payload.title.x}}",
        "{{payload.number.real}}",
        "{{payload.labels.2}}",
        "{{payload.labels.-1}}",
        "{{payload.labels.\u0660}}",
        "{{payload.labels.9999999999}}",
        "{{payload.__class__}}",
        "{{payload.user.keys}}",
    ],
)
def test_what_is_not_there_is_empty(place: str) -> None:
    assert text_of(f"[{place}]") == "[]"


@pytest.mark.parametrize(
    "written",
    [
        "{{7*7}}",
        "{{secret}}",
        "{{payloads}}",
        "{{payload.}}",
        "{{payload title}}",
        "{payload.title}",
        "{{ }}",
        "${{ github.event }}",
        "{0.__class__}",
    ],
)
def test_what_is_no_place_stays_as_it_is_written(written: str) -> None:
    assert text_of(written) == written


def test_a_delivery_brings_no_places_of_its_own() -> None:
    assert text_of("{{payload.sneaky}}") == "{{event}} {{payload.user.login}}"
    pieces = Delivery("}}", "{{payload.", {"title": "no"})
    assert text_of("{{event}}title{{delivery}}", pieces) == "{{payload.title}}"


def test_a_payload_that_is_no_object_is_one_value() -> None:
    for payload, text in (([1, {"a": 2}], "2"), ("text", ""), (7, ""), (None, "")):
        assert text_of("{{payload.1.a}}", Delivery("d", "e", payload)) == text
    assert text_of("{{payload}}", Delivery("d", "e", "text")) == "text"


def test_a_large_number_is_put_in_to_the_last_digit() -> None:
    delivery = Delivery("d", "e", msgspec.json.decode(b'{"id": 123456789012345678901234567890}'))
    assert text_of("{{payload.id}}", delivery) == "123456789012345678901234567890"


# --- however much it is ------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", ["x", "é", "😀", '"', "\n"])
def test_what_comes_out_fits_however_much_goes_in(piece: str) -> None:
    # Given a template with many places, and a delivery of four megabytes
    large = Delivery("d", "e", {"a": piece * (4 * 1024 * 1024 // len(piece.encode()))})
    template = "{{payload.a}}" * 10_000
    began = time.process_time()

    # Then a text ends where there is no more room, and so does an object, counted as it is written
    text = fill(template, large, 1000)
    assert len(text.encode()) <= 1000
    assert text.endswith("… (cut)")
    context = fill_object(Raw(msgspec.json.encode({"a": template, "b": ["{{payload.a}}", "kept"]})), large, ROOM)
    assert isinstance(context, Raw)
    assert len(bytes(context)) <= ROOM
    assert msgspec.json.decode(context)["b"][1] == "kept"
    assert time.process_time() - began < 5


def test_an_object_whose_template_has_no_room_left_is_not_made_larger() -> None:
    raw = Raw(msgspec.json.encode({"a": "{{payload.title}}"}))
    context = fill_object(raw, DELIVERY, 4)
    assert isinstance(context, Raw)
    assert len(bytes(context)) <= len(bytes(raw))


@pytest.mark.parametrize("hostile", ["{" * 200_000, "{{" + " " * 200_000, "{{payload" + ".a" * 100_000, "{{ " * 60_000])
def test_a_hostile_template_takes_no_longer_than_it_is_long(hostile: str) -> None:
    began = time.process_time()
    text_of(hostile)
    assert time.process_time() - began < 1


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    template=st.text(st.sampled_from("{} .payloadevntz0a"), max_size=60),
    payload=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "0", "pay"]), inner, max_size=3)
        ),
        max_leaves=6,
    ),
    bytes_max=st.integers(20, 80),
)
def test_any_template_over_any_payload_is_a_text_that_fits(template: str, payload: object, bytes_max: int) -> None:
    assert len(fill(template, Delivery("d", "e", payload), bytes_max).encode()) <= bytes_max


# --- the task ----------------------------------------------------------------------------------------------


def test_every_text_of_the_context_is_filled_and_no_name() -> None:
    raw = Raw(b'{"{{event}}": "{{event}}", "in": [{"deep": "{{payload.number}}"}, 1, null, true]}')
    assert decoded(fill_object(raw, DELIVERY, ROOM)) == {
        "{{event}}": "pull_request",
        "in": [{"deep": "7"}, 1, None, True],
    }
    assert fill_object(UNSET, DELIVERY, ROOM) is UNSET
    assert fill_object(Raw(b"null"), DELIVERY, ROOM) is UNSET


def test_only_the_words_of_a_task_come_from_a_delivery() -> None:
    # Given a template that has places everywhere
    template = HookTemplate(
        input="{{event}}",
        title="{{payload.title}}",
        goal="{{payload.number}}",
        context=Raw(b'{"who": "{{payload.user.login}}"}'),
        type="{{event}}",
        model="{{event}}",
        queue="{{event}}",
        project_id="{{event}}",
        priority=Level.LOW,
        requirements=Requirements(capabilities=["{{event}}"]),
        execution=Execution(exclusive="{{event}}"),
    )
    task = filled(template, DELIVERY, hook_id="wh_1", provider=HookProvider.GITHUB, input_bytes_max=ROOM)

    # Then texts are filled, and what decides how it is run is as the owner wrote it
    assert (task.input, task.title, task.goal) == ("pull_request", "Fix it", "7")
    assert decoded(task.context) == {"who": "ann"}
    assert (task.type, task.model, task.queue, task.project_id) == ("{{event}}",) * 4
    assert (task.priority, task.requirements, task.execution) == (
        Level.LOW,
        template.requirements,
        template.execution,
    )
    assert task.source is not None
    assert (task.source.type, task.source.id, task.source.channel) == (SourceType.WEBHOOK, "wh_1", "github")
    assert decoded(task.metadata) == {"hook": "wh_1", "event": "pull_request", "delivery": "d-1"}
    assert oversize_of(task, Sizes()) == ()


def test_a_template_is_kept_as_it_was() -> None:
    template = HookTemplate(input="x" * 300_000, context=Raw(b'{"a":"b"}'))
    assert unfilled(read_template(write_template(template))) == unfilled(template)
    plain = HookTemplate(input="a")
    assert write_template(plain) == '{"input":"a"}'
    task = filled(plain, DELIVERY, hook_id="wh_1", provider=HookProvider.STRIPE, input_bytes_max=ROOM)
    assert (task.title, task.goal, task.context, task.type) == (None, None, UNSET, "general")
