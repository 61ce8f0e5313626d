"""Reading threads."""

import asyncio
import threading

import pytest

from taskyard.hub.readers import READERS, Readers
from taskyard.store.port import Reader, StoreUnavailable
from tests.support.hub_scene import HeldStore


async def test_each_thread_opens_one_reader_and_keeps_it() -> None:
    store = HeldStore()
    readers = Readers(store.reader)
    meeting = threading.Barrier(READERS)

    def look(reader: Reader) -> tuple[str, int]:
        meeting.wait(10)
        return threading.current_thread().name, id(reader)

    seen = set()
    for _ in range(5):
        seen |= set(await asyncio.gather(*(readers.read(look) for _ in range(READERS))))
    assert len({name for name, _ in seen}) == len({reader for _, reader in seen}) == READERS
    readers.close()


async def test_what_goes_wrong_in_a_thread_reaches_whoever_asked_and_the_thread_goes_on() -> None:
    store = HeldStore()
    readers = Readers(store.reader)
    store.read_faults = [StoreUnavailable("busy")]
    with pytest.raises(StoreUnavailable):
        await readers.read(lambda reader: reader.position())
    assert await readers.read(lambda reader: reader.position()) == 0
    readers.close()
