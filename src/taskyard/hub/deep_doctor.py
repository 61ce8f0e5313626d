"""`taskyard doctor --deep`: every damaged record by its name. Without it: what running hubs have met."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Final, Protocol

from taskyard.hub.findings import Finding, Health
from taskyard.store.dump import Summary
from taskyard.store.port import RecordDamaged, StoreBroken, StoreRefused, StoreUnavailable

NAMED_MAX: Final = 1_000
ASK_S: Final = 2.0
DEEP: Final = "`taskyard doctor --deep` names them"
NAME: Final = "records"
# Hubs are asked where they are, and not through a proxy that the environment names for other addresses.
_opener: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Yard(Protocol):
    """A database, beside the hubs that use it."""

    @property
    def summary(self) -> Summary: ...

    def damage(self) -> Iterator[RecordDamaged]: ...


def read_all(opened: AbstractContextManager[Yard]) -> Iterator[Finding]:
    """One finding for each damaged row, or one that says that there is none."""
    try:
        with opened as yard:
            found = yard.damage()
            is_sound = True
            for damaged in islice(found, NAMED_MAX):
                is_sound = False
                yield Finding(NAME, Health.FAILED, f"{damaged}; restore a backup")
            if next(found, None) is not None:
                yield Finding(NAME, Health.FAILED, f"more than {NAMED_MAX} are damaged; the others are not named")
            elif is_sound:
                yield Finding(NAME, Health.OK, f"{yard.summary.total} read, none is damaged")
    except (StoreBroken, StoreRefused, StoreUnavailable) as error:
        yield Finding(NAME, Health.FAILED, f"they could not all be read: {error}")


def heard_of(urls: Iterable[str]) -> Finding:
    """What these hubs have met since they were started."""
    met = {url: count for url in urls if (count := _met_by(url))}
    if met:
        said = ", ".join(f"{count} damaged by the hub at {url}" for url, count in met.items())
        return Finding(NAME, Health.FAILED, f"found {said}; {DEEP}")
    return Finding(NAME, Health.OK, "no running hub has met a damaged one; `taskyard doctor --deep` reads them all")


def _met_by(url: str) -> int:
    """0 also for a hub that does not answer: whether one runs is told elsewhere."""
    try:
        with _opener.open(f"{url}/readyz", timeout=ASK_S) as answer:
            said = json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        return 0
    count = said.get("damaged_records", 0) if isinstance(said, dict) else 0
    return count if isinstance(count, int) else 0
