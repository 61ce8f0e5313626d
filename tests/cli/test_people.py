import json
from datetime import datetime, timedelta

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub

ANN = {"id": "u_1", "name": "ann", "plan": "pro", "overrides": {"max_pending": 200}, "created_at": None}
LOCAL: dict[str, object] = {"id": "u_0", "name": "local", "plan": None, "overrides": {}, "created_at": None}


def test_a_user_is_added(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "users", Reply(status=201, body=ANN))
    result = cli("user", "add", "ann", "--plan", "pro", "--override", "max_pending=200")
    assert result == (
        0,
        "ann is u_1, on plan pro.\n"
        "Give them a key: taskyard key add NAME --user ann\n"
        "One that their daemons can use too: taskyard key add NAME --user ann --scope tasks --scope daemon\n",
        "",
    )
    assert hub.calls[0].body == {"name": "ann", "plan": "pro", "overrides": {"max_pending": 200}}
    assert json.loads(cli("user", "add", "ann", "--json").out)["id"] == "u_1"


def test_users_are_listed(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users", Reply(body=[ANN, LOCAL]))
    assert cli("user", "ls") == (
        0,
        "NAME   PLAN  OVERRIDES        CREATED  ID\n"
        "ann    pro   max_pending=200  -        u_1\n"
        "local  none  -                -        u_0\n",
        "",
    )
    assert len(json.loads(cli("user", "ls", "--json").out)) == 2


def test_a_user_is_changed_by_name(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users", Reply(body=[ANN]))
    hub.on("PATCH", "users/u_1", Reply(body=LOCAL))
    arguments = ["user", "set", "ann", "--plan", "none", "--override", "max_pending=", "--name", "anna"]
    assert cli(*arguments) == (0, "local is without a plan; overrides: -.\n", "")
    assert hub.calls[-1].body == {"name": "anna", "plan": None, "overrides": {"max_pending": None}}
    assert json.loads(cli(*arguments, "--json").out)["name"] == "local"


def test_a_user_gets_a_plan(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users", Reply(body=[ANN]))
    hub.on("PATCH", "users/u_1", Reply(body=ANN), Reply(body=LOCAL), Reply(body=ANN))
    assert cli("user", "plan", "ann", "pro") == (0, "ann is on plan pro now.\n", "")
    assert hub.calls[-1].body == {"plan": "pro"}
    assert cli("user", "plan", "ann", "none") == (0, "local is without a plan now.\n", "")
    assert hub.calls[-1].body == {"plan": None}
    assert json.loads(cli("user", "plan", "ann", "pro", "--json").out)["plan"] == "pro"


def test_a_plan_that_there_is_not_is_wrong_use_and_the_others_are_named(hub: StubHub, cli: Cli) -> None:
    detail = "There is no plan gold; there are: free, pro."
    problem = {
        "status": 422,
        "code": "INVALID_INPUT",
        "detail": detail,
        "errors": [{"path": "plan", "message": detail}],
    }
    hub.on("GET", "users", Reply(body=[ANN]))
    hub.on("PATCH", "users/u_1", Reply(status=422, body=problem))
    assert cli("user", "plan", "ann", "gold") == (2, "", f"taskyard: {detail}\n")


LIMITS = {
    "plan": "free",
    "max_concurrent_agents": 1,
    "max_task_duration_minutes": 30,
    "max_priority": "normal",
    "max_pending": 50,
    "pending": 12,
    "monthly_agent_hours_limit": 10,
    "monthly_agent_hours_used": 2.5,
    "billing_cycle_resets_at": "2126-02-28T10:00:00Z",
}


def test_limits_say_what_is_used_of_what_and_until_when(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users/me/limits", Reply(body=LIMITS))
    code, out, err = cli("user", "limits")
    assert (code, err) == (0, "")
    assert out.partition(" UTC")[0] == (
        "LIMIT              VALUE\n"
        "plan               free\n"
        "concurrent tasks   1\n"
        "pending tasks      12 of 50\n"
        "highest priority   normal\n"
        "minutes per task   30\n"
        "hours this month   2.50 of 10\n"
        "next month begins  2126-02-28 10:00"
    )
    assert hub.calls[-1].query == {}
    assert json.loads(cli("user", "limits", "ann", "--json").out)["monthly_agent_hours_used"] == 2.5
    assert hub.calls[-1].query == {"user": "ann"}


def test_who_has_no_limits_is_told_so(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users/me/limits", Reply(body={"monthly_agent_hours_used": 0.013}))
    assert cli("user", "limits", "--user", "ann").out == (
        "LIMIT              VALUE\n"
        "plan               none\n"
        "concurrent tasks   unlimited\n"
        "pending tasks      0 of unlimited\n"
        "highest priority   critical\n"
        "minutes per task   unlimited\n"
        "hours this month   0.01 of unlimited\n"
        "next month begins  -\n"
    )
    assert hub.calls[-1].query == {"user": "ann"}


def test_plans_are_listed(hub: StubHub, cli: Cli) -> None:
    free = {"name": "free", "max_concurrent_agents": 1, "max_task_duration_minutes": 30, "monthly_agent_hours": 10}
    calm = {"name": "calm", "max_pending": 100, "max_priority": "normal"}
    hub.on("GET", "plans", Reply(body=[{**free, "max_pending": 50}, calm]))
    assert cli("plans").out == (
        "PLAN  CONCURRENT  MINUTES PER TASK  HOURS PER MONTH  PENDING  MAX PRIORITY\n"
        "free  1           30                10               50       -\n"
        "calm  unlimited   unlimited         unlimited        100      normal\n"
    )
    assert len(json.loads(cli("plans", "--json").out)) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["set", "ann"], "say what to change"),
        (["set", "ann", "--override", "max_pending"], "write LIMIT=NUMBER, not max_pending"),
        (["add", "ann", "--override", "max_pending=many"], "write LIMIT=NUMBER, not max_pending=many"),
    ],
)
def test_a_change_that_says_nothing_is_wrong_use(hub: StubHub, cli: Cli, arguments: list[str], said: str) -> None:
    result = cli("user", *arguments)
    assert result.code == 2
    assert said in result.err
    assert hub.calls == []


def test_a_key_is_shown_once_and_alone(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users/me", Reply(body={"id": "u_0", "name": "local", "scopes": ["admin"]}))
    hub.on("POST", "users/u_0/keys", Reply(status=201, body={"id": "k_1", "key": "ty_secret", "scopes": ["tasks"]}))
    assert cli("key", "add", "ci") == (
        0,
        "ty_secret\n",
        "Key k_1 (tasks). Keep it now: it is not shown again.\n",
    )
    assert hub.calls[-1].body == {"name": "ci", "scopes": ["tasks"]}
    assert json.loads(cli("key", "add", "ci", "--json").out)["key"] == "ty_secret"


def test_a_key_for_another_may_be_bound(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users", Reply(body=[ANN]))
    hub.on("POST", "users/u_1/keys", Reply(status=201, body={"id": "k_1", "key": "ty_1"}))
    bounds = ["--max-priority", "high", "--source", "agent", "--expires", "30d"]
    assert cli("key", "add", "ci", "--user", "ann", "--scope", "tasks", "--scope", "daemon", *bounds).code == 0
    body = hub.calls[-1].body
    expires = datetime.fromisoformat(body.pop("expires_at"))
    assert abs(expires - now() - timedelta(days=30)) < timedelta(minutes=1)
    assert body == {"name": "ci", "scopes": ["tasks", "daemon"], "max_priority": "high", "sources": ["agent"]}
    assert cli("key", "add", "ci", "--expires", "never").code == 2


def test_keys_are_listed_without_their_secrets_and_revoked(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "users", Reply(body=[ANN]))
    created = (now() - timedelta(days=2.5)).isoformat()
    key = {"id": "k_1", "name": "ci", "scopes": ["tasks", "daemon"], "created_at": created}
    hub.on("GET", "users/u_1/keys", Reply(body=[key]))
    assert cli("key", "ls", "--user", "ann") == (
        0,
        "ID   NAME  SCOPES         CREATED  EXPIRES  REVOKED\nk_1  ci    tasks, daemon  2 d ago  -        -\n",
        "",
    )
    assert json.loads(cli("key", "ls", "--user", "ann", "--json").out)[0]["id"] == "k_1"
    hub.on("DELETE", "keys/k_1", Reply(body={"ok": True}))
    assert cli("key", "revoke", "k_1") == (0, "Key k_1 is revoked.\n", "")
    assert json.loads(cli("key", "revoke", "k_1", "--json").out) == {"ok": True}


def test_the_audit_says_who_did_what(hub: StubHub, cli: Cli) -> None:
    at = (now() - timedelta(minutes=3.5)).isoformat()
    entry = {
        "at": at,
        "actor": "local",
        "action": "user.changed",
        "subject": "u_1",
        "old": "free",
        "new": {"plan": "pro"},
    }
    hub.on("GET", "audit", Reply(body=[entry, entry]))
    assert cli("audit", "-n", "1") == (
        0,
        'WHEN       WHO    DID           TO   WAS   IS\n3 min ago  local  user.changed  u_1  free  {"plan":"pro"}\n',
        "",
    )
    assert len(json.loads(cli("audit", "--json").out)) == 2


def test_daemons_are_listed_and_drained(hub: StubHub, cli: Cli) -> None:
    seen = (now() - timedelta(minutes=2.5)).isoformat()
    daemon = {
        "id": "d_1",
        "name": "mac-1",
        "status": "busy",
        "shared": True,
        "active_tasks": 2,
        "max_concurrent_tasks": 5,
        "last_heartbeat": seen,
        "types": ["echo", "demo"],
        "models": ["opus"],
        "memory_free_mb": 2048,
    }
    hub.on("GET", "daemons", Reply(body=[daemon]), Reply(body=[daemon]), Reply(body=[]))
    code, out, _ = cli("daemons")
    assert (code, out) == (
        0,
        "NAME   STATUS         TASKS  SEEN       TYPES       CAPABILITIES  MODELS  FREE    ID\n"
        "mac-1  busy (shared)  2/5    2 min ago  echo, demo  -             opus    2.0 GB  d_1\n",
    )
    assert json.loads(cli("daemons", "--json").out)[0]["id"] == "d_1"
    assert cli("daemons") == (0, "", "No daemon has connected yet; start one with `taskyard daemon`.\n")
    hub.on("POST", "daemons/mac-1/drain", Reply(body={"ok": True}))
    assert cli("drain", "mac-1") == (0, "mac-1 drains: it finishes what it runs and gets nothing new.\n", "")
    assert json.loads(cli("drain", "mac-1", "--json").out) == {"ok": True}
    hub.on("POST", "daemons/mac-1/resume", Reply(body={"ok": True}))
    assert cli("drain", "mac-1", "--undo") == (0, "mac-1 gets work again.\n", "")
    hub.on("DELETE", "daemons/mac-1", Reply(body={"ok": True}))
    assert cli("daemons", "forget", "mac-1") == (0, "mac-1 is forgotten. If it comes back, it is a new daemon.\n", "")
    assert json.loads(cli("daemons", "forget", "mac-1", "--json").out) == {"ok": True}
