"""`taskyard.toml`: taken whole, or refused whole with the place."""

from pathlib import Path
from typing import Final

import msgspec
import pytest

from taskyard.core.settings import Breaker, Lease, Plan, Queue, Rate, Settings
from taskyard.hub.settings import (
    BadSettings,
    FileSettings,
    core_settings,
    leaves,
    names_changed,
    read_settings,
    under_profile,
)
from taskyard.vocabulary import Profile


def written(directory: Path, text: str | bytes) -> Path:
    path = directory / "taskyard.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "taskyard.toml") == FileSettings()
    assert core_settings(FileSettings()) == Settings()


def test_what_is_written_reaches_the_core(tmp_path: Path) -> None:
    text = """
        default_queue = "slow"
        [limits]
        daemon_slots = 9
        [lease]
        lease_s = 60
        [queues.ollama-local]
        models = ["ollama/llama3"]
        [gateway]
        behind_tls = true
    """
    settings = read_settings(written(tmp_path, text))
    core = core_settings(settings)
    assert core.lease == Lease(lease_s=60)
    assert core.queues == {"ollama-local": Queue(models=("ollama/llama3",))}
    assert (core.default_queue, core.limits.daemon_slots) == ("slow", 9)
    assert settings.gateway.behind_tls


# --- every number ------------------------------------------------------------------------------------------

MIB: Final = 1024 * 1024

SPECIFIED: Final = {
    # 2, the task
    "retry.timeout_s": 300,
    "retry.max_attempts": 3,
    "retry.delay_s": 30,
    "limits.size.input": MIB // 4,
    "limits.size.result": MIB,
    "limits.size.request": 16 * MIB,
    "limits.size.frame": 4 * MIB,
    "limits.size.log": 5 * MIB,
    "priorities.assign_critical_factor": 1.5,
    "priorities.assign_high_factor": 3,
    "priorities.escalate_factor": 2,
    "priorities.estimated_s": 300,
    "priorities.critical_wait_s": 30,
    # 3, intake
    "limits.size.batch": 1000,
    "limits.rate.proactive.per_minute": 50,
    "limits.rate.proactive.per_hour": 500,
    "limits.rate.proactive.burst": 100,
    "limits.rate.user.per_minute": 60,
    "limits.rate.user.per_hour": 1000,
    "limits.rate.webhook.per_minute": 100,
    "limits.rate.webhook.per_hour": 2000,
    "limits.rate.agent.per_minute": 60,
    "limits.rate.agent.per_hour": 1000,
    "limits.rate.schedule.per_minute": 60,
    "limits.rate.schedule.per_hour": 1000,
    "limits.rate.hub.per_minute": 500,
    "limits.rate.hub.per_hour": 10_000,
    "limits.running_total": 1000,
    "limits.daemon_slots": 5,
    "limits.running_per_user": 20,
    "limits.running_per_source.proactive": 10,
    "limits.running_per_source.user": 15,
    "limits.running_per_source.webhook": 5,
    "limits.running_per_source.agent": 10,
    "limits.running_per_source.schedule": 10,
    "limits.user_queue_depth.warning": 500,
    "limits.user_queue_depth.critical": 1000,
    "limits.queue_depth.warning": 50_000,
    "limits.queue_depth.critical": 100_000,
    # 4, who runs next
    "ageing.critical_s": 30,
    "ageing.high_s": 300,
    "ageing.normal_s": 3600,
    "ageing.low_s": 4 * 3600,
    "shares.critical_reserve": 0.2,
    "shares.high": 0.4,
    "shares.normal": 0.35,
    "shares.low": 0.15,
    "shares.low_max": 5,
    "limits.load_step": 0.2,
    "preemption.min_run_s": 10,
    "preemption.times_max": 3,
    # 5, running and failing
    "lease.accept_s": 5,
    "lease.start_s": 30,
    "lease.heartbeat_s": 5,
    "lease.lease_s": 30,
    "lease.spare": 0.2,
    "suspects.avoid_first_s": 1,
    "suspects.avoid_max_s": 600,
    "suspects.unstarted_max": 10,
    "suspects.avoid_lost_s": 60,
    "suspects.deaths_max": 3,
    "suspects.hold_after_s": 60,
    "retry.timeout_factor": 1.5,
    "retry.rate_limit_said_max_s": 24 * 3600,
    "retry.rate_limit_s": 60,
    "retry.rate_limit_max_s": 3600,
    "retry.rate_limit_jitter": 0.1,
    "retry.jitter": 0.2,
    "retry.delay_max_s": 600,
    "cooling.probe_s": 60,
    "breakers.failure_threshold": 5,
    "breakers.half_open_after": 60,
    "breakers.cooldown": 300,
    # 6, plans
    "plans.free.max_concurrent_agents": 1,
    "plans.free.max_task_duration_minutes": 30,
    "plans.free.monthly_agent_hours": 10,
    "plans.free.max_pending": 50,
    "plans.pro.max_concurrent_agents": 3,
    "plans.pro.max_task_duration_minutes": 120,
    "plans.pro.monthly_agent_hours": 100,
    "plans.pro.max_pending": 50,
    "plans.team.max_concurrent_agents": 10,
    "plans.team.max_task_duration_minutes": 240,
    "plans.team.max_pending": 100,
    "plans.enterprise.max_concurrent_agents": 50,
    "plans.enterprise.max_task_duration_minutes": 480,
    "plans.enterprise.max_pending": 10_000,
    # 10 and 12
    "backpressure.resume_below": 0.8,
    "retention.archive_after_days": 7,
    "retention.events_days": 7,
}
"""Every number that the specification's text and tables give."""

DEFAULTS: Final = dict(leaves(msgspec.to_builtins(FileSettings())))
NUMBERS: Final = {
    name: value for name, value in DEFAULTS.items() if isinstance(value, int | float) and not isinstance(value, bool)
}
NO_NUMBERS: Final = (".jwt", ".max_priority", ".otlp_endpoint")
UNLIMITED: Final = [name for name, value in DEFAULTS.items() if value is None and not name.endswith(NO_NUMBERS)]
EDGE: Final = ("auth.", "cluster.", "daemon.", "retention.")


def test_the_defaults_are_the_specifications() -> None:
    assert {name: DEFAULTS.get(name) for name in SPECIFIED} == SPECIFIED


def another(value: float) -> float:
    """Near enough to contradict nothing: a fraction stays one."""
    return value / 2 if value < 1 else value + 1


def as_toml(name: str, value: float) -> str:
    section, _, key = name.rpartition(".")
    return f"[{section}]\n{key} = {value}\n" if section else f"{key} = {value}\n"


@pytest.mark.parametrize("name", [*NUMBERS, *UNLIMITED])
def test_every_number_can_be_set_alone_and_arrives(tmp_path: Path, name: str) -> None:
    value = another(NUMBERS.get(name, 99))
    settings = read_settings(written(tmp_path, as_toml(name, value)))
    assert dict(leaves(msgspec.to_builtins(settings))) == {**DEFAULTS, name: value}
    assert names_changed(FileSettings(), settings) == (name,)
    if not name.startswith(EDGE):
        assert dict(leaves(msgspec.to_builtins(core_settings(settings))))[name] == value


def test_every_setting_of_the_core_is_in_the_file() -> None:
    assert set(Settings.__struct_fields__) <= set(FileSettings.__struct_fields__)


def test_what_a_section_leaves_out_keeps_its_default(tmp_path: Path) -> None:
    text = """
        [limits.rate.proactive]
        per_minute = 20
        [limits.running_per_source]
        user = 3
        [plans.pro]
        max_concurrent_agents = 8
        [plans.gold]
        max_concurrent_agents = 30
        [breakers.overrides.ops-security]
        failure_threshold = 3
        [queues.b]
        [queues.a]
        max_concurrent = 4
    """
    core = core_settings(read_settings(written(tmp_path, text)))
    assert core.limits.rate["proactive"] == Rate(per_minute=20, per_hour=500, burst=100)
    assert core.limits.rate["user"] == Settings().limits.rate["user"]
    assert core.limits.running_per_source == {**Settings().limits.running_per_source, "user": 3}
    assert core.plans["pro"] == Plan(
        max_concurrent_agents=8, max_task_duration_minutes=120, monthly_agent_hours=100, max_pending=50
    )
    assert core.plans["gold"] == Plan(max_concurrent_agents=30)
    assert core.plans["free"] == Settings().plans["free"]
    assert core.breakers.overrides == {"ops-security": Breaker(failure_threshold=3)}
    assert list(core.queues.items()) == [("b", Queue()), ("a", Queue(max_concurrent=4))]


def test_the_specifications_example_is_good(tmp_path: Path) -> None:
    text = """
        profile = "service"
        [limits]
        running_total = 1000
        [limits.queue_depth]
        warning = 50000
        critical = 100000
        [limits.user_queue_depth]
        warning = 500
        critical = 1000
        [limits.rate.proactive]
        per_minute = 50
        per_hour = 500
        burst = 100
        [plans.pro]
        max_concurrent_agents = 3
        [queues.ollama-local]
        models = ["ollama/llama3", "ollama/qwen2.5"]
        max_concurrent = 1
        [queues.default]
        max_concurrent = 1000
        [breakers]
        failure_threshold = 5
        half_open_after = 60
        cooldown = 300
        [breakers.overrides.ops-security]
        failure_threshold = 3
        [lease]
        heartbeat_s = 5
        lease_s = 30
        accept_s = 5
        start_s = 30
        [retention]
        archive_after_days = 7
    """
    settings = read_settings(written(tmp_path, text))
    assert settings.profile is Profile.SERVICE
    assert settings.queues["default"].max_concurrent == 1000


def test_a_profile_that_was_given_wins_over_the_files() -> None:
    file = FileSettings(profile=Profile.SERVICE)
    assert under_profile(file, None).profile is Profile.SERVICE
    assert under_profile(file, Profile.LOCAL).profile is Profile.LOCAL


def test_of_what_changed_only_the_name_is_told(tmp_path: Path) -> None:
    text = "[auth.jwt]\nalgorithm = 'HS256'\nsecret = '0123456789abcdef0123456789abcdef'\n[plans.gold]\n"
    names = names_changed(FileSettings(), read_settings(written(tmp_path, text)))
    assert "auth.jwt.secret" in names
    assert "plans.gold.max_pending" in names
    assert "0123456789abcdef" not in str(names)


# --- bad files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("lease = 3", "lease"),
        ("[lease]\nlease_s = '30'", "lease.lease_s"),
        ("[lease]\nleese_s = 30", "leese_s"),
        ("[leese]\nlease_s = 30", "leese"),
        ("[lease]\nlease_s = 14", "lease.lease_s"),
        ("[lease]\nheartbeat_s = 0", "lease.heartbeat_s"),
        ("[lease]\naccept_s = 0", "lease.accept_s"),
        ("[lease]\nstart_s = -1", "lease.start_s"),
        ("[lease]\ncancel_grace_s = 0", "lease.cancel_grace_s"),
        ("[lease]\nlease_s = inf", "lease.lease_s"),
        ("[lease]\nlease_s = nan", "lease.lease_s"),
        ("[lease]\nlease_s = 1e400", "lease.lease_s"),
        ("[lease]\nlease_s = 1e12", "lease.lease_s"),
        ("[retry]\ndelay_max_s = -1", "retry.delay_max_s"),
        ("[retry]\njitter = -0.1", "retry.jitter"),
        ("[retention]\narchive_after_days = 0", "retention.archive_after_days"),
        ("[retention]\narchive_after_days = 1e300", "retention.archive_after_days"),
        ("[limits]\ndaemon_slots = 0", "limits.daemon_slots"),
        ("[limits]\ndaemon_slots = 99999999999999999999", "daemon_slots"),
        ("[suspects]\ndeaths_max = 0", "suspects.deaths_max"),
        ("[suspects]\nunstarted_max = 0", "suspects.unstarted_max"),
        ("[priorities]\nagent_max = 'highest'", "priorities.agent_max"),
        ("[queues.a]\nmodels = 'x'", "models"),
        ("[queues.a]\nmax = 1", "max"),
        ("[gateway]\nbehind_tls = 'yes'", "gateway.behind_tls"),
        ("[auth]\nticket_s = -5", "auth.ticket_s"),
        ("[auth.jwt]\nalgorithm = 'none'", "auth.jwt"),
        ("[auth.jwt]\nalgorithm = 'HS256'\nsecret = 'short'", "auth.jwt"),
        ("[auth.jwt]\nalgorithm = 'ES256'\njwks_file = 'nowhere.json'", "auth.jwt"),
        ("default_queue = 3", "default_queue"),
        ("default_queue = ''", "default_queue"),
        ("profile = 'public'", "profile"),
        ("[limits.rate.prooactive]\nper_minute = 1\nper_hour = 1", "limits.rate.prooactive"),
        ("[limits.rate.new]\nper_minute = 1", "per_hour"),
        ("[limits.rate.user]\nburst = 0", "limits.rate.user.burst"),
        ("[limits.rate.user]\nper_minute = 0", "limits.rate.user.per_minute"),
        ("[limits.rate.user]\nper_day = 5", "per_day"),
        ("[limits.running_per_source]\nnobody = 5", "limits.running_per_source.nobody"),
        ("[limits.queue_depth]\nwarning = 200000", "limits.queue_depth.critical"),
        ("[limits.user_queue_depth]\ncritical = 499", "limits.user_queue_depth.critical"),
        ("[limits]\nload_step = 0", "limits.load_step"),
        ("[limits]\nload_step = 1.5", "limits.load_step"),
        ("[limits]\nrunning_total = 0", "limits.running_total"),
        ("[limits]\nrunning_per_user = -1", "limits.running_per_user"),
        ("[limits.size]\ninput = 0", "limits.size.input"),
        ("[limits.size]\nframe = 1000", "limits.size.frame"),
        ("[limits.size]\nframe = 100000000", "limits.size.frame"),
        ("[limits.size]\ninput = 4000000", "one frame"),
        ("[limits.size]\nresult = 8000000", "limits.size.result"),
        ("[limits.size]\nrequest = 1000000", "limits.size.request"),
        (
            "[limits.size]\nname = 300\ndepth = 9",
            "limits.size.name is a constant now, 255: take it out; limits.size.depth",
        ),
        ("[limits.size]\ncontext = 'x'", "limits.size.context is a constant now, 262144: take it out"),
        ("[limits.size]\nnames = 300", "unknown field `names` - at `$.limits.size`"),
        ("limits = 3", "limits"),
        ("[limits]\nsize = 3", "limits.size"),
        ("[shares]\nhigh = 1.5", "shares.high"),
        ("[shares]\ncritical_reserve = 1", "shares.critical_reserve"),
        ("[shares]\nlow = 0.26", "shares.high, shares.normal and shares.low"),
        ("[backpressure]\nresume_below = 0", "backpressure.resume_below"),
        ("[breakers]\nfailure_threshold = 0", "breakers.failure_threshold"),
        ("[breakers]\ncooldown = 10", "breakers.cooldown"),
        ("[breakers.overrides.a]\ncooldown = 10", "breakers.overrides.a"),
        ("[breakers.overrides.a]\nhalf_open_after = 900", "breakers.overrides.a"),
        ("[retry]\nmax_attempts = 0", "retry.max_attempts"),
        ("[retry]\ntimeout_s = 0", "retry.timeout_s"),
        ("[retry]\nrate_limit_s = 7200", "retry.rate_limit_max_s"),
        ("[suspects]\navoid_max_s = 0.5", "suspects.avoid_first_s"),
        ("[priorities]\nassign_high_factor = 1", "priorities.assign_critical_factor"),
        ("[plans.pro]\nmax_agents = 3", "max_agents"),
        ("[plans.pro]\nmax_task_duration_minutes = 0", "plans.pro.max_task_duration_minutes"),
        ("[queues.a]\nmax_concurrent = 0", "queues.a.max_concurrent"),
        ("[retention]\nevents_days = 0", "retention.events_days"),
        ("[retention]\ndaemons_days = 0", "retention.daemons_days"),
        ("[auth]\nsession_s = 0", "auth.session_s"),
        ("[cluster]\nlease_s = 0.9", "cluster.lease_s"),
        ("[cluster]\nlease_s = 61", "cluster.lease_s"),
        ("[cluster]\nlink = 8421", "cluster.link"),
        ("[cluster]\ndurability = 'some'", "cluster.durability"),
        ("[cluster]\nlink = '10.0.0.5'", "cluster.link"),
        ("[cluster]\nlink = ':8421'", "cluster.link"),
        ("[cluster]\nlink = '10.0.0.5:'", "cluster.link"),
        ("[cluster]\nlink = '10.0.0.5:65536'", "cluster.link"),
        ("[cluster]\nlink = '10.0.0.5:-1'", "cluster.link"),
        ("[cluster]\nlink = '10.0.0.5:9999999999'", "cluster.link"),
        ("[cluster]\nlink = 'fd00::5:8421'", "cluster.link"),
        ("[cluster]\nlink = '0.0.0.0:8421'", "wildcard"),
        ("[cluster]\nlink = '[::]:8421'", "wildcard"),
        ("[notifications]\nallow = ['10.0.0.1/8']", "notifications.allow"),
        ("[notifications]\nallow = ['a b']", "notifications.allow"),
        ("[notifications]\nports = [0]", "notifications.ports"),
        ("[notifications]\nports = [65536]", "notifications.ports"),
        ("[notifications]\nretry_first_s = 3601", "notifications.retry_first_s"),
        ("[notifications]\nretry_first_s = 0", "notifications.retry_first_s"),
        ("[notifications]\ngive_up_s = 0", "notifications.give_up_s"),
        ("[notifications]\ngive_up_s = 29", "notifications.give_up_s must be at least 30"),
        ("[notifications]\ntimeout_s = 0", "notifications.timeout_s"),
        ("[notifications]\nparallel_max = 0", "notifications.parallel_max"),
        ("[notifications]\ntotal_max = 0", "notifications.total_max"),
        ("[notifications]\npending_max = 0", "notifications.pending_max"),
        ("[agents.x]\ntypes = ['a']", "agents.x needs a command or a recipe"),
        ("[agents.x]\ncommand = ['a', '{input}']", "agents.x.command: {input} is written by others"),
        ("[agents.x]\ncommand = 'a b'", "agents"),
        ("[lease\n", "line 1"),
        ("[lease]\n[lease]\n", "lease"),
        (b"\xff\xfe", "utf-8"),
    ],
)
def test_every_bad_file_is_refused_whole_with_the_place(tmp_path: Path, text: str | bytes, place: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadSettings) as refused:
        read_settings(path)
    said = str(refused.value)
    assert str(path) in said
    assert place in said
    assert said.endswith("Nothing of it was applied.")


@pytest.mark.parametrize("link", ["127.0.0.1:0", "10.0.0.5:8421", "[fd00::5]:65535", "hub-1.internal:8421"])
def test_a_link_may_be_on_any_address_by_which_others_reach_it(tmp_path: Path, link: str) -> None:
    assert read_settings(written(tmp_path, f"[cluster]\nlink = '{link}'")).cluster.link == link


@pytest.mark.parametrize(
    "shares",
    [
        "high = 0.4\nnormal = 0.35\nlow = 0.25",
        "high = 0.33\nnormal = 0.56\nlow = 0.11",
        "high = 0.9\nstrict = true",
    ],
    ids=["all of it", "all of it but for rounding", "caps"],
)
def test_shares_may_make_up_the_whole_and_caps_more(tmp_path: Path, shares: str) -> None:
    assert read_settings(written(tmp_path, f"[shares]\n{shares}")).shares.high > 0


def test_every_fault_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, "[lease]\naccept_s = 0\n[limits]\ndaemon_slots = 0\n")
    with pytest.raises(BadSettings, match=r"lease\.accept_s.*limits\.daemon_slots"):
        read_settings(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="cannot be read"):
        read_settings(tmp_path)
