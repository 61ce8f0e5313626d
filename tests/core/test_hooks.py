"""Inbound webhooks: whose they are, by which secrets they are recognised, and what they may not do."""

import pytest

from taskyard.core.changes import HookDeliveries, HookRecord
from taskyard.core.commands import NOTHING, Known
from taskyard.core.effects import Answer, Done, Refused, Submitted
from taskyard.core.hooks import hooks_of, secrets_of
from taskyard.core.settings import Hooks, Settings
from taskyard.core.told import KEEP
from taskyard.core.yard_commands import ChangeHook, CreateHook, DeleteHook, RotateHook
from taskyard.vocabulary import HOOK_KEY_PREFIX, HookProvider, Keeps, Level, Refusal, SourceType, Status
from tests.support.harness import HubHarness, a_draft

GITHUB = HookProvider.GITHUB
DAY_MS = 86_400_000


def create(hub: HubHarness, hook_id: str = "wh_1", *, user: str = "ann", **fields: object) -> Answer:
    name = "pushes" if hook_id == "wh_1" else hook_id
    given: dict[str, object] = {"name": name, "secret": "old", "template": '{"input":"a"}', **fields}
    return hub.ask(CreateHook(hook_id, user, provider=GITHUB, actor="key:k", **given))  # type: ignore[arg-type]


def rotate(hub: HubHarness, secret: str, *, user: str = "ann", **fields: object) -> Answer:
    return hub.ask(RotateHook("wh_1", user, secret, "key:k", **fields))  # type: ignore[arg-type]


def change(hub: HubHarness, *, user: str = "ann", **fields: object) -> Answer:
    return hub.ask(ChangeHook("wh_1", user, "key:k", **fields))  # type: ignore[arg-type]


def delete(hub: HubHarness, *, user: str = "ann") -> Answer:
    return hub.ask(DeleteHook("wh_1", user, "key:k"))


def code_of(answer: Answer) -> Refusal:
    assert isinstance(answer, Refused), answer
    return answer.code


def good(hub: HubHarness) -> tuple[str, ...]:
    return secrets_of(hub.state.hooks["wh_1"], hub.now.wall)


# --- making and losing one ---------------------------------------------------------------------------------


def test_a_hook_is_its_owners_and_outlives_a_restart() -> None:
    hub = HubHarness(users=("ann", "bob"))
    assert create(hub, max_priority=Level.HIGH, events=("push",)) == Done()
    told = ("wh_1", "ann", "pushes", GITHUB, "old", '{"input":"a"}')
    record = HookRecord(*told, hub.now.wall, Level.HIGH, events=("push",))
    for each in (hub, hub.restarted()):
        assert hooks_of(each.state, "ann") == [record]
        assert hooks_of(each.state, "bob") == []
        assert hooks_of(each.state, None) == [record]


def test_the_newest_is_first() -> None:
    hub = HubHarness()
    create(hub, "wh_2")
    create(hub, "wh_3")
    hub.advance(ms=1)
    create(hub, "wh_1")
    assert [hook.id for hook in hooks_of(hub.state, "ann")] == ["wh_1", "wh_3", "wh_2"]


def test_no_two_hooks_of_one_user_have_one_name() -> None:
    hub = HubHarness(users=("ann", "bob"))
    create(hub)
    create(hub, "wh_2", user="bob", name="pushes")
    assert code_of(create(hub, "wh_3", name="pushes")) is Refusal.NAME_TAKEN
    assert create(hub, "wh_4", name="other") == Done()
    assert code_of(change(hub, name="other")) is Refusal.NAME_TAKEN
    assert change(hub, name="pushes") == Done()
    assert [hook.name for hook in hooks_of(hub.state, "ann")] == ["other", "pushes"]
    assert change(hub, name="new") == Done()
    assert create(hub, "wh_3", name="pushes") == Done()


def test_nobody_has_a_hook_who_is_not_there() -> None:
    hub = HubHarness()
    assert code_of(create(hub, user="eve")) is Refusal.USER_NOT_FOUND
    assert hub.batches[-1].is_empty()


def test_a_user_has_so_many_and_no_more_whatever_others_have() -> None:
    hub = HubHarness(Settings(hooks=Hooks(per_user_max=2)), users=("ann", "bob"))
    assert [create(hub, f"wh_{n}") for n in range(2)] == [Done(), Done()]
    answer = create(hub, "wh_2")
    assert code_of(answer) is Refusal.TOO_MANY_HOOKS
    assert hub.batches[-1].is_empty()
    assert create(hub, "wh_3", user="bob") == Done()
    hub.ask(DeleteHook("wh_0", "ann", "key:k"))
    assert create(hub, "wh_2") == Done()


def test_a_deleted_hook_is_gone_and_what_it_made_stays() -> None:
    hub = HubHarness()
    create(hub)
    task = hub.submit(a_draft(source=SourceType.WEBHOOK, key=f"{HOOK_KEY_PREFIX}wh_1:d", digest="d"))
    assert delete(hub) == Done()
    assert (hub.state.hooks, [each for each in hub.kept() if each.kind is Keeps.HOOK]) == ({}, [])
    assert hooks_of(hub.state, "ann") == []
    assert hub.restarted().state.hooks == {}
    assert task.status is Status.QUEUED


@pytest.mark.parametrize("user", ["bob", "ann"])
def test_anothers_hook_looks_like_none(user: str) -> None:
    # Given a hook of ann's, asked for by bob; or none at all, asked for by ann
    hub = HubHarness(users=("ann", "bob"))
    if user == "bob":
        create(hub)
    before = dict(hub.state.hooks)
    for answer in (change(hub, user=user, name="x"), rotate(hub, "new", user=user), delete(hub, user=user)):
        assert answer == Refused(Refusal.HOOK_NOT_FOUND, "There is no such hook of yours.")
        assert hub.batches[-1].is_empty()
    assert hub.state.hooks == before


# --- secrets -----------------------------------------------------------------------------------------------


def test_after_a_rotation_both_secrets_are_good_for_a_day() -> None:
    hub = HubHarness()
    create(hub)
    assert good(hub) == ("old",)
    assert rotate(hub, "new") == Done()
    assert good(hub) == good(hub.restarted()) == ("new", "old")
    hub.advance(ms=DAY_MS - 1)
    assert good(hub) == ("new", "old")
    hub.advance(ms=1)
    assert good(hub) == ("new",)


def test_an_overlap_may_be_said_and_none_ends_the_old_secret_at_once() -> None:
    hub = HubHarness(Settings(hooks=Hooks(overlap_s=5)))
    create(hub)
    rotate(hub, "second", overlap_ms=2000)
    hub.advance(s=2)
    assert good(hub) == ("second",)
    rotate(hub, "third", overlap_ms=0)
    assert good(hub) == ("third",)
    rotate(hub, "fourth")
    hub.advance(s=4)
    assert good(hub) == ("fourth", "third")


def test_no_more_than_two_secrets_are_ever_good() -> None:
    hub = HubHarness()
    create(hub)
    rotate(hub, "second")
    rotate(hub, "third")
    assert good(hub) == ("third", "second")


def test_no_secret_is_told_by_the_audit() -> None:
    # Given everything that can be done to a hook
    hub = HubHarness()
    create(hub, secret="s3cret-1", max_priority=Level.HIGH)
    rotate(hub, "s3cret-2")
    change(hub, name="other", max_priority=None)
    delete(hub)

    # Then who did it is told, and no secret, also in no event
    records = [record for batch in hub.batches for record in batch.audit]
    assert [(r.actor, r.action, r.subject, r.old, r.new) for r in records] == [
        ("key:k", "hook.create", "wh_1", None, "pushes, github, up to high"),
        ("key:k", "hook.rotate", "wh_1", None, None),
        ("key:k", "hook.change", "wh_1", "pushes, github, up to high", "other, github, any priority"),
        ("key:k", "hook.delete", "wh_1", "other, github, any priority", None),
    ]
    assert not [event for batch in hub.batches for event in batch.events]


# --- changes, and what a key may not -----------------------------------------------------------------------


def test_what_is_not_named_in_a_change_stays() -> None:
    hub = HubHarness()
    create(hub, max_priority=Level.LOW)
    assert change(hub, name="other", events=("push",)) == Done()
    assert change(hub, name="other") == Done()
    hook = hub.state.hooks["wh_1"]
    assert hook.events == ("push",)
    assert (hook.name, hook.template, hook.max_priority, hook.secret) == ("other", '{"input":"a"}', Level.LOW, "old")
    change(hub, template='{"input":"b"}', max_priority=Level.HIGH)
    (hook,) = hooks_of(hub.restarted().state, "ann")
    assert (hook.name, hook.template, hook.max_priority) == ("other", '{"input":"b"}', Level.HIGH)


@pytest.mark.parametrize(
    ("wanted", "ceiling", "given"),
    [
        (None, None, None),
        (Level.CRITICAL, None, Level.CRITICAL),
        (None, Level.NORMAL, Level.NORMAL),
        (Level.CRITICAL, Level.NORMAL, Level.NORMAL),
        (Level.LOW, Level.NORMAL, Level.LOW),
    ],
)
def test_a_hook_may_no_more_than_the_key_that_makes_it(
    wanted: Level | None, ceiling: Level | None, given: Level | None
) -> None:
    hub = HubHarness()
    create(hub, max_priority=wanted, ceiling=ceiling)
    assert hub.state.hooks["wh_1"].max_priority is given


@pytest.mark.parametrize("hooks", [None, Level.CRITICAL])
def test_a_key_changes_no_hook_that_may_more_than_the_key(hooks: Level | None) -> None:
    hub = HubHarness()
    create(hub, max_priority=hooks)
    for answer in (change(hub, name="x", ceiling=Level.HIGH), rotate(hub, "mine", ceiling=Level.HIGH)):
        assert code_of(answer) is Refusal.FORBIDDEN
        assert hub.batches[-1].is_empty()
    assert good(hub) == ("old",)


def test_a_key_changes_a_hook_that_may_as_much_and_lifts_it_no_higher() -> None:
    hub = HubHarness()
    create(hub, max_priority=Level.NORMAL)
    assert rotate(hub, "new", ceiling=Level.NORMAL) == Done()
    assert change(hub, max_priority=Level.CRITICAL, ceiling=Level.HIGH) == Done()
    assert hub.state.hooks["wh_1"].max_priority is Level.HIGH
    assert change(hub, max_priority=None, ceiling=Level.HIGH) == Done()
    assert hub.state.hooks["wh_1"].max_priority is Level.HIGH
    assert change(hub, max_priority=KEEP, ceiling=Level.HIGH) == Done()
    assert hub.state.hooks["wh_1"].max_priority is Level.HIGH


# --- one delivery, one task --------------------------------------------------------------------------------


KEY = f"{HOOK_KEY_PREFIX}wh_1:d1"


def deliver(hub: HubHarness, known: Known = NOTHING) -> Submitted:
    answer = hub.offer(a_draft(source=SourceType.WEBHOOK, key=KEY, digest=KEY), known=known)
    assert isinstance(answer, Submitted), answer
    return answer


def test_a_hook_knows_how_many_deliveries_made_a_task_and_when_the_last_came() -> None:
    hub = HubHarness()
    create(hub)

    def come(key: str, *, hook_id: str = "wh_1", queue: str | None = None) -> Answer:
        draft = a_draft(source=SourceType.WEBHOOK, key=key, digest=key, queue=queue)
        return hub.offer(draft, hook_id=hook_id)

    come("d1")
    hub.advance(ms=1000)
    come("d2")
    seen = HookDeliveries(2, hub.now.wall)
    hub.advance(ms=1000)
    # What is known already, refused, or for a hook that is gone counts for nothing
    come("d2")
    assert isinstance(come("d3", queue="none"), Refused)
    come("d4", hook_id="wh_gone")
    for each in (hub, hub.restarted()):
        assert each.state.hook_deliveries == {"wh_1": seen}
    delete(hub)
    assert hub.state.hook_deliveries == hub.restarted().state.hook_deliveries == {}


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_delivery_begins_nothing_anew_that_a_person_has_cancelled(is_forgotten: bool) -> None:
    # Given a task that a delivery made, and that was cancelled
    hub = HubHarness()
    (task_id,) = deliver(hub).ids
    task = hub.state.tasks[task_id]
    hub.cancel(task)
    known = NOTHING
    if is_forgotten:
        hub.core.forget(through_seq=hub.state.ledger.seq)
        assert task_id not in hub.state.tasks
        known = Known(tasks={task_id: task}, keys={KEY: task_id})

    # When the same delivery comes again, then it is that task's
    again = deliver(hub, known)
    assert (again.ids, again.deduplicated) == ((task_id,), (True,))
