"""The public names, and what asking for one of them loads."""

import subprocess
import sys

import pytest

import taskyard


def test_the_public_names_are_these() -> None:
    assert sorted(taskyard.__all__) == ["AsyncClient", "Client", "Daemon", "__version__"]
    assert taskyard.Client.__module__ == "taskyard.sdk.client"
    assert taskyard.AsyncClient.__module__ == "taskyard.sdk.async_client"


def test_another_name_is_no_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Worker'"):
        _ = taskyard.Worker


def test_a_client_loads_neither_daemon_nor_hub() -> None:
    program = "import sys; from taskyard import Client; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    rooms = {name.split(".")[1] for name in loaded.split() if name.startswith("taskyard.")}
    assert rooms == {"sdk", "vocabulary"}
