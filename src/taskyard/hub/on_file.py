"""A hub on a file: what daemons proved of lost commits is remembered beside the file, over a restart too.

There are no other hubs to ask, and the newest position is not kept: putting a backup in the file's place is how it is
restored, and daemons that saw more say so.
"""

import asyncio
from pathlib import Path
from typing import Final

from taskyard.hub.hub import Hub
from taskyard.hub.observe import Log
from taskyard.hub.positions import Remembered
from taskyard.hub.yard import CannotStart
from taskyard.store.rewind import Missing, Rewound

OWN: Final = "this hub"


async def start_on_file(hub: Hub, data: Path, log: Log, *, new_era: bool, accepts: bool) -> asyncio.Event:
    """Start it. `Rewound`: the file lacks what was proved, and leading it was not accepted.

    The event is set when the file is to be opened anew, in a new era, without a person; only if `accepts`.
    """
    again = asyncio.Event()
    remembered = Remembered(data, OWN)

    def hear(missing: Missing) -> None:
        remembered.hear(missing.sighting)
        _write(remembered, log)
        if accepts:
            again.set()

    hub.guard.on_missing = hear
    seen = remembered.sightings
    try:
        await hub.start(new_era=new_era, seen=seen)
    except Rewound:
        if not accepts:
            raise
        await hub.start(new_era=True, seen=seen)
    await hub.guard.note(seen)
    remembered.settle(hub.identity)
    _write(remembered, log)
    return again


def _write(remembered: Remembered, log: Log) -> None:
    """Once in the life of a file, so it may be done here and now. What cannot be written is not remembered."""
    try:
        if not remembered.is_written:
            remembered.write()
    except CannotStart as error:
        log.say("hub.unremembered", level="warning", reason=str(error))
