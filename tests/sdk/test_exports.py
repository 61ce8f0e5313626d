"""The public names, and what asking for one of them loads."""

import subprocess
import sys

import pytest

import taskyard
from taskyard.sdk import errors

ERRORS = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.TaskyardError)
}


def test_every_error_of_a_client_can_be_imported_from_the_package() -> None:
    assert {"TaskyardError", "WaitTimeout", "TaskStuck", "Limited", "HubUnreachable"} <= ERRORS
    assert set(taskyard.__all__) >= ERRORS


def test_the_public_names_are_these() -> None:
    assert {name: getattr(taskyard, name).__module__ for name in taskyard.__all__ if name != "__version__"} == {
        "AsyncClient": "taskyard.sdk.async_client",
        "AsyncProactiveSubmitter": "taskyard.sdk.async_proactive",
        **dict.fromkeys(ERRORS, "taskyard.sdk.errors"),
        "Client": "taskyard.sdk.client",
        "Daemon": "taskyard.daemon.daemon",
        "ProactiveSubmitter": "taskyard.sdk.proactive",
        "Result": "taskyard.daemon.task",
        "TaskError": "taskyard.daemon.task",
        "SubmittedBefore": "taskyard.sdk.task",
        "verify": "taskyard.sdk.webhooks",
    }


def test_another_name_is_no_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Worker'"):
        _ = taskyard.Worker


def test_a_client_and_its_errors_load_neither_daemon_nor_hub() -> None:
    program = "import sys; from taskyard import Client, TaskyardError; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    rooms = {name.split(".")[1] for name in loaded.split() if name.startswith("taskyard.")}
    assert rooms == {"sdk", "vocabulary", "wire"}
