"""`python -m tests.acceptance.notified --kills N`: hubs are killed between commit, sending and report, on each engine.

A receiver in this process takes what they tell, slowly and not always. Afterwards every task that is on disk was
told of at least once, nothing else was, each event has one id, and every signature is right. On PostgreSQL there are
two hubs: whichever leads is killed, and the other goes on.
"""

import argparse
import contextlib
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, NamedTuple

from taskyard.sdk.client import Client
from taskyard.sdk.errors import HubUnreachable, TaskyardError, Unavailable
from taskyard.sdk.retry import RetryPolicy
from taskyard.sdk.webhooks import Notice, verify
from tests.support.engines import Engine
from tests.support.live import LiveHub, LiveYard, live_yard, wait_until
from tests.support.postgres import new_yard

SETTINGS: Final = """\
[cluster]
lease_s = 1

[notifications]
allow = ["127.0.0.0/8"]
retry_first_s = 1
retry_max_s = 2
"""
PATIENT: Final = RetryPolicy(attempts_max=60, delay_s=0.1, delay_s_max=0.5)
SETTLE_S: Final = 60.0


class Told(NamedTuple):
    """What came of it."""

    tasks: set[str]
    acknowledged: set[str]
    notices: list[Notice]
    kills: int
    under_way: int
    """Kills while a request was with the receiver."""

    def broken(self) -> list[str]:
        """Each rule that does not hold, in a sentence."""
        told = {notice.data.task_id for notice in self.notices}
        ids = {(notice.id, notice.data.id) for notice in self.notices}
        found = []
        if lost := self.acknowledged - self.tasks:
            found.append(f"acknowledged and not there: {sorted(lost)[:3]}")
        if untold := self.tasks - told:
            found.append(f"on disk and never told of: {sorted(untold)[:3]}")
        if unreal := told - self.tasks:
            found.append(f"told of and not there: {sorted(map(str, unreal))[:3]}")
        if len({one for one, _ in ids}) != len(ids) or len({event for _, event in ids}) != len(ids):
            found.append("an event had two ids, or an id two events")
        return found


class Receiver:
    """Takes its time, and refuses now and then."""

    def __init__(self, seed: int) -> None:
        self.notices: list[Notice] = []
        self.secret = ""
        self.under_way = 0
        dice, lock, mine = random.Random(seed), threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                notice = verify(body, dict(self.headers.items()), mine.secret)
                with lock:
                    mine.under_way += 1
                    mine.notices.append(notice)
                    wait_s, status = 0.05 * dice.random(), 500 if dice.random() < 0.1 else 204
                time.sleep(wait_s)
                with lock:
                    mine.under_way -= 1
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """What is heard is in `notices`."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Submitter:
    """Hands tasks in until it is told to stop, whatever becomes of the hubs."""

    def __init__(self, client: Client) -> None:
        self.acknowledged: set[str] = set()
        self._client = client
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(0.03):
            with contextlib.suppress(HubUnreachable, Unavailable):
                self.acknowledged.add(self._client.submit("a", type="noop").id)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


@contextlib.contextmanager
def hubs_of(yard: LiveYard) -> Iterator[list[LiveHub]]:
    """One hub on a file; two on a database."""
    if yard.engine is Engine.SQLITE:
        yield [yard.hub(settings=SETTINGS)]
    else:
        database = new_yard()
        yield [yard.hub(name, settings=SETTINGS, database=database) for name in ("one", "two")]


def run(directory: Path, *, engine: Engine, kills: int, seed: int = 1) -> Told:
    dice, receiver = random.Random(seed), Receiver(seed)
    directory.mkdir(exist_ok=True)
    under_way = 0
    try:
        with live_yard(directory, engine) as yard, hubs_of(yard) as hubs:
            everywhere, key = ",".join(hub.url for hub in hubs), hubs[0].key
            client = Client(everywhere, key, retry=PATIENT, patience=PATIENT)
            made = client.add_notification(receiver.url, ["task_created"])
            receiver.secret = made.secret or ""
            submitter = Submitter(Client(everywhere, key, retry=RetryPolicy(attempts_max=1), timeout_s=30))
            try:
                for number in range(kills):
                    time.sleep(0.1 + 0.4 * dice.random())
                    # On a busy machine that may be too short for any.
                    enough = number + 2
                    wait_until(
                        lambda enough=enough: len(submitter.acknowledged) >= enough,  # type: ignore[misc]
                        within_s=SETTLE_S,
                        what="more tasks",
                    )
                    leader = _leader(client, hubs)
                    if number % 2 == 0:
                        # Every other time when something is sent and not yet noted; else whenever.
                        wait_until(lambda: receiver.under_way > 0, within_s=SETTLE_S, what="a request", every_s=0.001)
                    under_way += receiver.under_way > 0
                    leader.restart()
            finally:
                submitter.stop()
            tasks, notices = wait_until(
                lambda: _settled(client, made.id, receiver), within_s=SETTLE_S, what="everything told"
            )
            return Told(tasks, submitter.acknowledged, notices, kills, under_way)
    finally:
        receiver.close()


def _settled(client: Client, notification: str, receiver: Receiver) -> tuple[set[str], list[Notice]] | None:
    """The tasks and what was told, once that is all of them. Looked at in this order, what is told is there already."""
    if client.notification(notification).pending:
        return None
    notices = list(receiver.notices)
    tasks = {task.id for task in client.tasks()}
    return (tasks, notices) if tasks <= {notice.data.task_id for notice in notices} else None


def _leader(client: Client, hubs: Sequence[LiveHub]) -> LiveHub:
    if len(hubs) == 1:
        return hubs[0]
    addresses = {hub.address for hub in client.hubs() if hub.leader}
    return next((hub for hub in hubs if hub.url in addresses), hubs[0])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.notified")
    parser.add_argument("--kills", type=int, default=50, help="on each engine")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    is_broken = False
    for engine in (Engine.SQLITE, Engine.POSTGRES):
        with tempfile.TemporaryDirectory(prefix="taskyard-notified-") as directory:
            told = run(Path(directory, "yard"), engine=engine, kills=asked.kills, seed=asked.seed)
        broken = told.broken()
        print(
            f"{engine}: {told.kills} kills, {told.under_way} while something was being sent, "
            f"{len(told.tasks)} tasks, {len(told.notices)} requests: {'; '.join(broken) or 'nothing broken'}",
            flush=True,
        )
        is_broken |= bool(broken)
    return 1 if is_broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except TaskyardError as error:
        sys.exit(str(error))
