"""Whose turn it is among users."""

from tests.support.harness import HubHarness, Level, Status, a_draft

USERS = ("ann", "bob", "cyd")


def a_full_hub(slots: int = 1) -> HubHarness:
    hub = HubHarness(users=USERS)
    hub.daemon(user="ann", shared=True, slots=slots)
    return hub


def order_of_service(hub: HubHarness, times: int) -> list[str]:
    """Who is served, one after the other, as tasks complete."""
    served = []
    for _ in range(times):
        task = hub.state.tasks[hub.sent()[-1][0]]
        served.append(task.user_id)
        hub.complete(task)
    return served


def test_the_user_with_the_fewest_running_tasks_goes_first() -> None:
    hub = a_full_hub(slots=3)
    for user in ("ann", "ann", "bob"):
        hub.run(hub.submit(user=user))
    waiting = {user: hub.submit(user=user) for user in USERS}
    hub.complete(next(t for t in hub.state.tasks.values() if t.user_id == "bob"))
    # Ann runs two, Bob and Cyd none, and Cyd was never served.
    assert [u for u, t in waiting.items() if t.status is Status.SCHEDULED] == ["cyd"]


def test_between_equals_the_one_served_longest_ago_goes_first() -> None:
    hub = a_full_hub()
    for _ in range(3):
        for user in USERS:
            hub.submit(user=user)
    assert order_of_service(hub, 9) == [*USERS] * 3


def test_users_who_cannot_be_served_at_the_head_hold_up_nobody() -> None:
    # Ten users whose tasks nobody can run, and one whose task can be.
    blocked = [f"u{n}" for n in range(10)]
    hub = HubHarness(users=(*blocked, "zoe"))
    hub.daemon(user="zoe", shared=True, slots=1)
    for user in blocked:
        hub.submit(user=user, capabilities=("gpu",))
        hub.submit(user=user, terms=None, excluded=("mac",))
    assert hub.submit(user="zoe").status is Status.SCHEDULED


def test_a_level_goes_before_fairness() -> None:
    hub = a_full_hub()
    hub.run(hub.submit(user="ann"))
    urgent = hub.submit(user="ann", level=Level.HIGH)
    hub.submit(user="bob")
    hub.complete(next(t for t in hub.state.tasks.values() if t.status is Status.RUNNING))
    assert urgent.status is Status.SCHEDULED


def test_nothing_a_user_submits_moves_them_forward() -> None:
    hub = a_full_hub()
    before = hub.state.users["bob"].turn
    hub.submit_all(*(a_draft(value=7) for _ in range(5)), user="bob")
    assert hub.state.users["bob"].turn >= before
