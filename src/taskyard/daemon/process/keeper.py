"""`python -m taskyard.daemon.process.keeper DIRECTORY`: keeps the work of one daemon, and outlives it if need be.

It decides nothing about tasks. It forks a guard for each process it is asked for, passes on what guards say, and
knows one rule of its own: what becomes of the work when its daemon is gone without a word. A daemon that comes back
finds it by a socket in its directory. It has one thread and never waits for a reader.
"""

import contextlib
import gc
import os
import selectors
import signal
import socket
import struct
import sys
import uuid
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.daemon.clock import now_ms
from taskyard.daemon.orders import Key
from taskyard.daemon.process import guard as guarding
from taskyard.daemon.process import messages, tree
from taskyard.daemon.process.guard import GRACE, now
from taskyard.daemon.process.launching import Exit, passes
from taskyard.daemon.process.messages import Ended, Held, Spawned, Welcome, Wrote, packed
from taskyard.daemon.process.places import KeeperCard, Place, Places
from taskyard.daemon.process.spawn import become_subreaper

LEASE_LOOK_S: Final = 0.5
"""How often a lease is looked at, at least: the time to wait is counted by a clock that stands still in a sleep."""
LOOK_S: Final = 0.1
"""How often strays are killed again."""
UNSENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""For a daemon that does not read. It finds all of it on the disk when it comes back."""
FIRST_WORD_S: Final = 15.0
"""Within which the daemon that started us must have come."""
LOSSES_MAX: Final = 3
LOSSES_S: Final = 60.0
# So many deaths of its daemon within this long may be some work's doing: it is killed, and lost to the hub, which
# counts what daemons do not survive.
LOST: Final = "whoever watched over it was killed"
_CREDENTIALS: Final = struct.Struct("3i")
READY: Final = b"ready\n"


class _Kept(Struct, eq=False):
    key: Key
    name: str
    place: Place
    control: socket.socket
    is_exclusive: bool = False
    pid: int = 0
    losses: list[float] = []
    """When its daemon died under it."""
    exit: Exit | None = None
    """How it ended, to be told once nobody is left of it."""


class Keeper:
    def __init__(self, places: Places, listener: socket.socket, keeper_id: str) -> None:
        self._places = places
        self._listener = listener
        self._keeper_id = keeper_id
        self._selector = selectors.DefaultSelector()
        self._kept: dict[Key, _Kept] = {}
        self._guards: dict[int, _Kept] = {}
        self._daemon: socket.socket | None = None
        self._heard = bytearray()
        self._unsent = bytearray()
        self._on_loss = "kill"
        self._away_s = 0.0
        self._lease_until_ms: int | None = None
        self._leaving = False
        self._has_met = False
        """Whether a daemon ever came."""
        self._kill_at: float | None = now() + FIRST_WORD_S
        self._has_strays = False

    def run(self) -> None:
        children, wakeup = socket.socketpair()
        for end in (children, wakeup, self._listener):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._asked_to_leave)
        signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
        self._selector.register(children, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        gc.freeze()  # what is here now stays in memory that guards share
        while not self._is_done():
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is self._listener:
                    self._meet()
                elif key.fileobj is self._daemon:
                    self._hear()
                    self._send()
                elif isinstance(key.data, _Kept):
                    self._hear_guard(key.data)
                else:
                    with contextlib.suppress(BlockingIOError):
                        children.recv(4096)
            self._reap()
            self._let_time_pass()
        card = self._places.card()
        if card is not None and card.keeper_id == self._keeper_id:
            self._places.forget_socket()  # and not that of whoever came after us

    def _is_done(self) -> bool:
        """Nobody to keep, and nobody to keep it for. How things ended is on the disk."""
        is_alone = self._leaving or (self._daemon is None and self._has_met)
        return is_alone and not self._kept and not self._has_strays

    # --- the daemon ----------------------------------------------------------------------------------------

    def _meet(self) -> None:
        """The newest is the daemon: its directory has a lock, so the one before is gone."""
        with contextlib.suppress(OSError):
            daemon, _ = self._listener.accept()
            if _is_work(daemon):
                daemon.close()
                return
            daemon.setblocking(False)
            if self._daemon is not None:
                self._part()
            self._daemon, self._has_met = daemon, True
            self._selector.register(daemon, selectors.EVENT_READ)

    def _part(self) -> None:
        assert self._daemon is not None, "who leaves was there"
        self._selector.unregister(self._daemon)
        self._daemon.close()
        self._daemon = None
        self._heard.clear()
        self._unsent.clear()

    def _lose(self) -> None:
        """It is gone without a word."""
        self._part()
        if self._on_loss == "kill":
            self._kill_all()
        else:
            self._kill_at = now() + self._away_s
            self._suspect()

    def _suspect(self) -> None:
        """Work that outlives its daemon again and again may be what kills it; the next one shall have a chance.

        With each death one is killed, the youngest: before it began, the daemons lived.
        """
        moment = now()
        for kept in self._kept.values():
            kept.losses = [*(at for at in kept.losses if moment - at < LOSSES_S), moment]
        suspects = [kept for kept in self._kept.values() if len(kept.losses) >= LOSSES_MAX]
        if suspects:
            self._stop(suspects[-1], 0)

    def _hear(self) -> None:
        assert self._daemon is not None, "who speaks is there"
        try:
            data = self._daemon.recv(1024 * 1024)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose()
            return
        self._heard += data
        try:
            for body in messages.unpacked(self._heard):
                self._obey(messages.to_keeper(body))
        except (ValueError, msgspec.MsgspecError) as error:
            print(f"the daemon said what nobody understands: {error}", file=sys.stderr, flush=True)  # noqa: T201 - its log
            self._lose()

    def _obey(self, message: messages.ToKeeper) -> None:
        match message:
            case messages.Hello():
                self._on_loss, self._away_s, self._kill_at = message.on_loss, message.away_s, None
                running = [Held(kept.key, kept.name, kept.pid) for kept in self._kept.values()]
                self._say(Welcome(messages.PROTOCOL, self._keeper_id, running))
            case messages.Spawn():
                self._spawn(message)
            case messages.Stop():
                if (kept := self._kept.get(message.key)) is not None:
                    self._stop(kept, message.grace_ms)
            case messages.Lease():
                self._lease_until_ms = message.until_ms
            case messages.Leave():
                self._leave()

    def _leave(self) -> None:
        self._leaving = True
        self._kill_all()

    def _asked_to_leave(self, number: int, frame: object) -> None:
        """By whoever ends this machine's processes. The flag is enough: the signal woke the loop."""
        self._leaving = True
        self._kill_at = now()

    def _say(self, message: messages.FromKeeper) -> None:
        if self._daemon is not None:
            self._unsent += packed(message)
            self._send()

    def _send(self) -> None:
        if self._daemon is None:
            return
        try:
            while self._unsent:
                del self._unsent[: self._daemon.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()  # the end of it will be read, too
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        self._selector.modify(self._daemon, events)
        if len(self._unsent) > UNSENT_BYTES_MAX:
            self._lose()

    # --- the work ------------------------------------------------------------------------------------------

    def _spawn(self, asked: messages.Spawn) -> None:
        place = self._places.place(asked.name)
        asked.env[tree.MARK] = f"{self._keeper_id}/{asked.name}"
        try:
            pid, ours, theirs = _fork()
        except OSError as error:
            self._say(Spawned(asked.key, 0, f"cannot fork: {error.strerror}", passes=passes(error)))
            return
        if pid == 0:
            guarding.guard(asked, place, theirs)
        theirs.close()
        ours.setblocking(False)
        kept = self._kept[asked.key] = self._guards[pid] = _Kept(asked.key, asked.name, place, ours, asked.exclusive)
        self._selector.register(ours, selectors.EVENT_READ, kept)

    def _stop(self, kept: _Kept, grace_ms: int) -> None:
        with contextlib.suppress(OSError):
            kept.control.send(GRACE.pack(grace_ms))

    def _kill_all(self) -> None:
        self._kill_at = None
        for kept in self._kept.values():
            self._stop(kept, 0)

    def _hear_guard(self, kept: _Kept) -> None:
        try:
            said = kept.control.recv(4096)
        except OSError:
            return
        match said[:1]:
            case guarding.SPAWNED:
                kept.pid = int(said[1:])
                self._say(Spawned(kept.key, kept.pid))
            case guarding.TROUBLE | guarding.SHORTAGE:
                self._drop(kept)
                trouble = said[1:].decode(errors="replace")
                self._say(Spawned(kept.key, 0, trouble, passes=said[:1] == guarding.SHORTAGE))
            case guarding.WROTE:
                self._say(Wrote(kept.key))
            case guarding.ENDED:
                self._drop(kept)
                self._say(Ended(kept.key, msgspec.msgpack.decode(said[1:], type=Exit)))
            case _:
                self._selector.unregister(kept.control)  # its guard is gone, and will be reaped

    def _drop(self, kept: _Kept) -> None:
        del self._kept[kept.key]
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(kept.control)
        kept.control.close()

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (waited := os.waitpid(-1, os.WNOHANG))[0] != 0:
                kept = self._guards.pop(waited[0], None)
                if kept is not None and self._kept.get(kept.key) is kept:
                    self._guard_died(kept)

    def _guard_died(self, kept: _Kept) -> None:
        """Killed, by the work or by a stranger; or it ended well and its last word is yet unread."""
        while self._kept.get(kept.key) is kept:
            before = kept.control.fileno()
            try:
                waiting = kept.control.recv(4096, socket.MSG_PEEK)
            except OSError:
                waiting = b""
            if not waiting or before < 0:
                break
            self._hear_guard(kept)
        if self._kept.get(kept.key) is kept:
            kept.exit = Exit(lost=LOST)
            self._has_strays = True

    # --- strays --------------------------------------------------------------------------------------------

    def _strays(self) -> list[tree.Identity]:
        """What became ours because its guard is gone, and all below it."""
        own = set(self._guards)
        roots = [identity for identity in tree.children(os.getpid()) if identity.pid not in own]
        return [*roots, *(below for root in roots for below in tree.descendants(root.pid))]

    def _clear_strays(self) -> None:
        if tree.kill(self._strays) or tree.has_others(os.getpid(), self._guards):
            return
        self._has_strays = False
        for kept in [kept for kept in self._kept.values() if kept.exit is not None]:
            assert kept.exit is not None, "chosen so"
            with contextlib.suppress(OSError):
                kept.place.ended(kept.exit)
            self._drop(kept)
            self._say(Ended(kept.key, kept.exit))

    # --- time ----------------------------------------------------------------------------------------------

    def _patience(self) -> float | None:
        instants = [self._kill_at] if self._kill_at is not None else []
        instants += [now() + LOOK_S] if self._has_strays else []
        instants += [now() + LEASE_LOOK_S] if any(kept.is_exclusive for kept in self._kept.values()) else []
        return max(0.0, min(instants) - now()) if instants else None

    def _let_time_pass(self) -> None:
        if self._has_strays:
            self._clear_strays()
        if self._lease_until_ms is not None and now_ms() >= self._lease_until_ms:
            for kept in self._kept.values():
                if kept.is_exclusive:
                    self._stop(kept, 0)
        if self._kill_at is not None and now() >= self._kill_at:
            self._leave()


def _fork() -> tuple[int, socket.socket, socket.socket]:
    """As `os.fork`, and the two ends of what a keeper and its guard say to each other."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET if tree.IS_LINUX else socket.SOCK_DGRAM)
    try:
        return os.fork(), ours, theirs
    except OSError:
        ours.close()
        theirs.close()
        raise


def _is_work(caller: socket.socket) -> bool:
    """Whether it is work of ours that calls: a sandbox with a way to the keeper would be none."""
    if not tree.IS_LINUX:
        return False
    pid, _, _ = _CREDENTIALS.unpack(caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return tree.is_below(pid, os.getpid())


def main(directory: Path) -> None:
    places = Places(directory)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    places.forget_socket()
    address, handle = places.socket_address()
    usual = os.umask(0o077)
    listener.bind(address)
    os.umask(usual)
    if handle is not None:
        os.close(handle)
    listener.listen(4)
    become_subreaper()
    itself = tree.identify(os.getpid())
    keeper_id = uuid.uuid4().hex
    places.keep(KeeperCard(keeper_id, os.getpid(), itself.started if itself is not None else 0))
    os.write(1, READY)
    os.dup2(2, 1)
    Keeper(places, listener, keeper_id).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
