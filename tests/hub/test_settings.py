"""`taskyard.toml`: taken whole, or refused whole with the place."""

from pathlib import Path

import pytest

from taskyard.core.settings import Lease, Queue, Settings
from taskyard.hub.settings import BadSettings, FileSettings, core_settings, read_settings


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


def test_every_fault_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, "[lease]\naccept_s = 0\n[limits]\ndaemon_slots = 0\n")
    with pytest.raises(BadSettings, match=r"lease\.accept_s.*limits\.daemon_slots"):
        read_settings(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="cannot be read"):
        read_settings(tmp_path)
