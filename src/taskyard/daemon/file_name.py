"""What the files of an attempt are called: what the hub calls a task leads nowhere else."""

import hashlib
import re
from typing import Final

from taskyard.daemon.orders import Key

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def file_name(key: Key) -> str:
    task_id, attempt = key
    plain = task_id if _PLAIN.fullmatch(task_id) else hashlib.sha256(task_id.encode("utf-8", "replace")).hexdigest()
    return f"{plain}-{attempt}"
