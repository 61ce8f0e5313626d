"""Templates of tasks: whose they are, what they are called, and how many one may have."""

import pytest

from taskyard.core.changes import TemplateRecord
from taskyard.core.effects import Answer, Done, Refused
from taskyard.core.templates import PER_USER_MAX, templates_of
from taskyard.core.yard_commands import DeleteTemplate, PutTemplate
from taskyard.vocabulary import Refusal
from tests.support.harness import HubHarness

CONTENT = '{"task":{"input":"Review {{what}}"}}'


def put(hub: HubHarness, name: str = "review", *, user: str = "ann", **fields: object) -> Answer:
    return hub.ask(PutTemplate(**{"user_id": user, "name": name, "content": CONTENT, "actor": "key:k", **fields}))  # type: ignore[arg-type]


def delete(hub: HubHarness, name: str = "review", *, user: str = "ann") -> Answer:
    return hub.ask(DeleteTemplate(user, name, "key:k"))


def names(hub: HubHarness, user: str | None) -> list[str]:
    return [template.name for template in templates_of(hub.state, user)]


def code_of(answer: Answer) -> Refusal:
    assert isinstance(answer, Refused), answer
    return answer.code


def test_a_template_is_its_owners_and_outlives_a_restart() -> None:
    hub = HubHarness(users=("ann", "bob"))
    assert put(hub) == Done()
    record = TemplateRecord("ann", "review", CONTENT, hub.now.wall, hub.now.wall)
    for each in (hub, hub.restarted()):
        assert templates_of(each.state, "ann") == [record]
        assert templates_of(each.state, "bob") == []
        assert templates_of(each.state, None) == [record]


def test_two_users_may_have_templates_of_one_name() -> None:
    hub = HubHarness(users=("ann", "bob"))
    put(hub)
    put(hub, user="bob", content="{}")
    assert delete(hub) == Done()
    again = hub.restarted()
    assert [template.content for template in templates_of(again.state, None)] == ["{}"]


def test_templates_are_listed_by_name() -> None:
    hub = HubHarness()
    for name in ("b", "c", "a"):
        put(hub, name)
    assert names(hub, "ann") == ["a", "b", "c"]


def test_a_new_template_takes_no_name_that_is_taken() -> None:
    hub = HubHarness()
    put(hub)
    refused = put(hub, content="{}", is_new=True)
    assert refused == Refused(
        Refusal.NAME_TAKEN, "You have a template review already; choose another name, or change that one.", field="name"
    )
    assert hub.batches[-1].is_empty()
    assert [template.content for template in templates_of(hub.state, "ann")] == [CONTENT]


def test_a_template_that_is_put_again_is_changed_and_keeps_when_it_was_made() -> None:
    hub = HubHarness()
    put(hub)
    made_at = hub.now.wall
    hub.advance(s=5)
    assert put(hub, content="{}") == Done()
    for each in (hub, hub.restarted()):
        assert templates_of(each.state, "ann") == [TemplateRecord("ann", "review", "{}", made_at, hub.now.wall)]


def test_a_user_has_at_most_a_hundred_templates() -> None:
    hub = HubHarness(users=("ann", "bob"))
    for n in range(PER_USER_MAX):
        assert put(hub, f"t{n}") == Done()
    assert code_of(put(hub, "one more")) is Refusal.TOO_MANY_TEMPLATES
    assert hub.batches[-1].is_empty()
    assert put(hub, "t0", content="{}") == Done()
    assert put(hub, user="bob") == Done()
    delete(hub, "t0")
    assert put(hub, "one more") == Done()


def test_a_user_who_is_not_there_has_no_template() -> None:
    hub = HubHarness()
    assert code_of(put(hub, user="eve")) is Refusal.USER_NOT_FOUND
    assert hub.batches[-1].is_empty()


def test_a_deleted_template_is_gone_for_good() -> None:
    hub = HubHarness()
    put(hub)
    assert delete(hub) == Done()
    assert hub.kept() == []
    assert templates_of(hub.restarted().state, None) == []


@pytest.mark.parametrize("user", ["bob", "ann", "eve"])
def test_anothers_template_looks_like_none(user: str) -> None:
    # Given a template of ann's that bob deletes, none at all for ann, and a user who is not there
    hub = HubHarness(users=("ann", "bob"))
    if user == "bob":
        put(hub)
    before = templates_of(hub.state, None)
    assert delete(hub, user=user) == Refused(
        Refusal.TEMPLATE_NOT_FOUND, "You have no template review; look its name up in your list of templates."
    )
    assert hub.batches[-1].is_empty()
    assert templates_of(hub.state, None) == before


def test_the_audit_tells_who_made_changed_and_removed_it() -> None:
    hub = HubHarness()
    put(hub)
    put(hub, content="{}")
    delete(hub)
    audited = [(entry.action, entry.subject, entry.actor) for batch in hub.batches for entry in batch.audit]
    assert audited == [
        ("template.create", "ann/review", "key:k"),
        ("template.change", "ann/review", "key:k"),
        ("template.delete", "ann/review", "key:k"),
    ]
