"""Standard error: where hub, daemon and commands tell what happens, for as long as somebody can read it.

A terminal is closed, or the reader of a pipe leaves, while there is work to do: that is no reason to fail. What
could not be written stays in Python's buffer, though, and is tried once more at the exit, which fails then with 120.
So a stream that nobody will read any more is led to nowhere.
"""

import errno
import os
import sys
from typing import Final, TextIO

NOBODY_READS: Final = (errno.EIO, errno.EPIPE)
"""Of a closed terminal, and of a pipe without a reader. A full disk is another matter: it may have room again."""


def tell(text: str) -> None:
    """Write it if that is possible; never fails."""
    stream: TextIO | None = getattr(sys, "stderr", None)
    if stream is None:
        # Whoever started us closed it before.
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        if error.errno in NOBODY_READS:
            lead_to_nowhere(stream)


def lead_to_nowhere(stream: TextIO) -> None:
    """What is left in it, and all that comes, is dropped."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
