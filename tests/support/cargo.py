"""What was read of other queues, for a test to look at."""

from typing import Any

import msgspec

from taskyard.cli.imports.cargo import Cargo
from taskyard.wire.imports import CarriedTask


def by_name(cargo: Cargo) -> dict[str, CarriedTask]:
    return {task.id: task for task in cargo.tasks}


def plain(value: Any) -> Any:
    return msgspec.json.decode(value)
