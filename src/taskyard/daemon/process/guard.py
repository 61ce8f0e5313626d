"""One attempt's guard: the parent of its work, and of whatever the work leaves without a parent.

A fork of the keeper, so it costs no start of an interpreter. It copies output into rings, counts time and memory, ends
the work when told, and does not go before the last of its descendants is gone: that is what "ended" means. When its
keeper is gone it kills everything at once. It hears of that by the end of their common socket, which the kernel closes
whatever the keeper died of.
"""

import contextlib
import os
import selectors
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import Final, Never

import msgspec

from taskyard.daemon.process import tree
from taskyard.daemon.process.launching import Exit, Limit, Limits, Stream, passes
from taskyard.daemon.process.messages import Spawn
from taskyard.daemon.process.places import Place
from taskyard.daemon.process.ring import RingWriter
from taskyard.daemon.process.spawn import MB, become_subreaper, spawn

READ_BYTES: Final = 64 * 1024
TELL_S: Final = 0.05
"""How often it is told that there is output."""
LINGER_S: Final = 0.3
"""For what a program leaves running when it ends: to finish its last line, and no longer."""
CLEAN_S: Final = 20.0
"""For what a sandbox runs afterwards."""
LOOK_S: Final = 0.25
"""How often memory and processes are counted, and survivors are killed again."""

# What a guard says: a byte for the kind, then a number, a sentence or how it ended. It is told how long the grace is.
SPAWNED, TROUBLE, SHORTAGE, WROTE, ENDED = b"s", b"t", b"p", b"w", b"e"
GRACE: Final = struct.Struct("<q")


def now() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Guard:
    def __init__(self, asked: Spawn, place: Place, control: socket.socket) -> None:
        self._limits: Limits = asked.limits
        self._asked = asked
        self._place = place
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._timers: dict[Callable[[], None], float] = {}
        """What is to be done, and when."""
        self._status: int | None = None
        """Of the work's own process, once it ended."""
        self._hit: Limit | None = None
        self._stopped = False
        self._killing = False
        self._told_at = 0.0
        self._rings: dict[int, RingWriter] = {}
        capacity = max(READ_BYTES, asked.limits.output_bytes_max)
        rings = [RingWriter(place.stream(stream), capacity) for stream in (Stream.STDOUT, Stream.STDERR)]
        # Last of what can fail: nobody would look after what was begun.
        self._pid, *files = spawn(asked, place.stdin)
        for file, ring in zip(files, rings, strict=True):
            os.set_blocking(file, False)
            self._rings[file] = ring
            self._selector.register(file, selectors.EVENT_READ)

    def run(self) -> None:
        """Until nobody is left."""
        self._children, wakeup = socket.socketpair()
        for end in (self._children, wakeup):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._children, selectors.EVENT_READ)
        self._control.setblocking(False)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._say(SPAWNED, str(self._pid).encode())
        if self._limits.time_ms is not None:
            self._timers[self._time_is_up] = now() + self._limits.time_ms / 1000
        if self._limits.memory_mb is not None or self._limits.processes is not None:
            self._timers[self._count] = now() + LOOK_S
        while self._reap():
            self._turn()
        self._end()

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._patience()):
            if key.fd in self._rings:
                self._copy(key.fd)
            elif key.fileobj is self._control:
                self._hear()
            else:
                self._children.recv(4096)
        self._let_time_pass()

    # --- the work ------------------------------------------------------------------------------------------

    def _reap(self) -> bool:
        """Whether anybody is left."""
        with contextlib.suppress(ChildProcessError):
            while (waited := os.waitpid(-1, os.WNOHANG))[0] != 0:
                pid, status = waited
                if pid == self._pid:
                    self._status = status
                    self._left_alone()
            return True
        return False

    def _left_alone(self) -> None:
        """The program ended; what it started shall too."""
        if not self._killing:
            tree.terminate(self._members)
            self._timers[self._kill] = now() + LINGER_S

    def _members(self) -> list[tree.Identity]:
        return tree.descendants(os.getpid())

    def _stop(self, grace_s: float) -> None:
        self._stopped = True
        kill_at = self._timers.get(self._kill)
        if grace_s <= 0:
            self._kill()
        elif kill_at is None or now() + grace_s < kill_at:
            self._timers[self._kill] = now() + grace_s
        if not self._killing:
            self._terminate()

    def _terminate(self) -> None:
        if tree.IS_LINUX:
            tree.terminate(self._members)
        elif self._status is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGTERM)

    def _kill(self) -> None:
        """Again and again until `_reap` finds nobody: a process can be slow to die."""
        self._killing = True
        if tree.IS_LINUX:
            tree.kill(self._members)
        else:
            tree.kill_group(self._pid)
        self._timers[self._kill] = now() + LOOK_S

    def _time_is_up(self) -> None:
        self._go_over(Limit.TIME)

    def _count(self) -> None:
        members = self._members()
        limits = self._limits
        if limits.processes is not None and len(members) > limits.processes:
            self._go_over(Limit.PROCESSES)
        elif limits.memory_mb is not None and tree.weigh(members) > limits.memory_mb * MB:
            self._go_over(Limit.MEMORY)
        else:
            self._timers[self._count] = now() + LOOK_S

    def _go_over(self, limit: Limit) -> None:
        if self._status is None and self._hit is None:
            self._hit = limit
        self._kill()

    # --- time ----------------------------------------------------------------------------------------------

    def _patience(self) -> float | None:
        return max(0.0, min(self._timers.values()) - now()) if self._timers else None

    def _let_time_pass(self) -> None:
        moment = now()
        for act in [act for act, at in self._timers.items() if at <= moment]:
            del self._timers[act]
            act()

    # --- the keeper ----------------------------------------------------------------------------------------

    def _hear(self) -> None:
        try:
            heard = self._control.recv(GRACE.size)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        if len(heard) == GRACE.size:
            self._stop(GRACE.unpack(heard)[0] / 1000)
        else:
            self._selector.unregister(self._control)
            self._kill()

    def _say(self, kind: bytes, rest: bytes = b"") -> None:
        # Who does not read now will look by itself: everything that matters is in the files.
        with contextlib.suppress(OSError):
            self._control.send(kind + rest)

    def _tell_output(self) -> None:
        self._told_at = now()
        self._say(WROTE)

    # --- output --------------------------------------------------------------------------------------------

    def _copy(self, file: int) -> bool:
        """Whether there was something."""
        try:
            data = os.read(file, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(file)
            self._rings.pop(file).close()
            os.close(file)
            return False
        self._rings[file].write(data)
        self._timers.setdefault(self._tell_output, max(now(), self._told_at + TELL_S))
        return True

    def _end(self) -> None:
        """Nobody is left: take what is still in the pipes, whoever else may hold them open, and say how it ended."""
        if not tree.IS_LINUX:
            tree.kill_group(self._pid)  # without a subreaper, what it left behind is nobody's child
        for file in list(self._rings):
            for _ in range(self._limits.output_bytes_max // READ_BYTES + 1):
                if not self._copy(file):
                    break
        self._clean()
        status = 0 if self._status is None else self._status
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        by_signal = {signal.SIGXCPU: Limit.CPU, signal.SIGXFSZ: Limit.FILE_SIZE}
        how = Exit(
            code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            signal=number,
            hit=self._hit or (by_signal.get(signal.Signals(number)) if number in by_signal else None),
            stopped=self._stopped,
        )
        with contextlib.suppress(OSError):
            self._place.ended(how)
        self._control.setblocking(True)
        self._say(ENDED, msgspec.msgpack.encode(how))  # and not only on the disk, which may be full

    def _clean(self) -> None:
        """Run what ends the rest of a sandbox, and wait for it."""
        if not self._asked.clean:
            return
        argv, env = self._asked.clean, self._asked.env
        nothing = [(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_RDWR, 0) for end in (0, 1, 2)]
        try:
            os.posix_spawnp(argv[0], argv, env, file_actions=nothing, setpgroup=0)
        except OSError:
            return  # it was there when the work was started with it
        self._killing = False
        self._timers = {self._kill: now() + CLEAN_S}
        while self._reap():
            self._turn()


def guard(asked: Spawn, place: Place, control: socket.socket) -> Never:
    """What a fork of the keeper does with the rest of its life."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # it goes when the work is gone, and not before
        # The keeper's other files would keep alive what shall end with it: above all its ends of others' sockets.
        os.dup2(control.fileno(), 3, inheritable=False)
        control.detach()
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        control = socket.socket(fileno=3)
        become_subreaper()
        try:
            watch = Guard(asked, place, control)
        except (OSError, ValueError) as error:
            kind = SHORTAGE if isinstance(error, OSError) and passes(error) else TROUBLE
            control.send(kind + str(error).encode(errors="replace"))
        else:
            watch.run()
    finally:
        os._exit(0)
