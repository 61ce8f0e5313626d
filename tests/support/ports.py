"""Ports that nobody else takes between the moment a test chooses one and the moment its server has it.

The kernel gives away the ports of one range to whoever does not name one, so these are below it. Of processes that run
tests beside each other each has a block of its own, also while a server of its is killed and has yet to come back.
"""

import atexit
import itertools
import random
import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

FIRST: Final = 20_000
BLOCK: Final = 400
_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
GIVEN_AWAY_FROM: Final = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768


def free_port() -> int:
    for port in itertools.islice(_block(), BLOCK):
        with socket.socket() as probe:
            if _binds(probe, port):
                return port
    with socket.socket() as probe:
        # All blocks are taken, or the kernel gives away those too: then as it comes.
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def _block() -> Iterator[int]:
    """Those of this process, in turn. Its first port is never given out: who has bound it has the block."""
    firsts = list(range(FIRST, GIVEN_AWAY_FROM - BLOCK, BLOCK))
    random.SystemRandom().shuffle(firsts)
    for first in firsts:
        guard = socket.socket()
        if _binds(guard, first):
            atexit.register(guard.close)
            return itertools.cycle(range(first + 1, first + BLOCK))
        guard.close()
    return iter(())


def _binds(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True
