"""What a task is tied to: what it depends on, what depends on it, its parent and its sub-tasks, and theirs.

A task names what it depends on and whose part it is, whether it has ended or not. Who names it is known of open tasks;
of ended ones it is looked for among those that came shortly before or after it, where the parts of a plan lie.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.core.task import Task
from taskyard.gateway.call import Call, Empty, OfUser, Reply
from taskyard.gateway.rest.tasks import find
from taskyard.store.port import Reader
from taskyard.vocabulary import ref_of
from taskyard.wire.graph import GraphAnswer, GraphEdge, GraphNode

NODES_MAX: Final = 200
# More than anybody takes in at a glance.
AROUND: Final = 300
"""So many tasks before it and after it are looked at for those that have ended."""
STEPS_MAX: Final = 50
# Each asks the hub once and the store once.
BODIES_AT_ONCE: Final = 20
TITLE_CHARS_MAX: Final = 120


class _Content(Struct):
    title: str | None = None
    input: str = ""


_content: Final = msgspec.json.Decoder(_Content)


async def show(call: Call[OfUser], _body: Empty) -> Reply:
    root = (await find(call, call.query.user)).task
    nearby = await call.hub.read(partial(_around, root))
    nodes, is_truncated = await _gather(call, root, nearby)
    titles = await call.hub.read(partial(_titles, list(nodes)))
    answer = GraphAnswer(
        nodes=[
            GraphNode(id=one.id, ref=one.ref, title=titles[one.id], status=one.status, type=one.kind.needs.type)
            for one in nodes.values()
        ],
        edges=[edge for task in nodes.values() for edge in _edges(task) if edge.from_ in nodes],
        truncated=is_truncated,
    )
    return Reply(answer)


def _around(root: Task, reader: Reader) -> Mapping[str, Task]:
    numbers = range(max(root.number - AROUND, 1), root.number + AROUND + 1)
    return reader.known(user_id=root.user_id, ids=(), refs=tuple(map(ref_of, numbers)), keys=()).tasks


async def _gather(call: Call[OfUser], root: Task, nearby: Mapping[str, Task]) -> tuple[dict[str, Task], bool]:
    """The nearest first; and whether some were left out."""
    naming: dict[str, list[str]] = {}
    for task in nearby.values():
        for edge in _edges(task):
            naming.setdefault(edge.from_, []).append(task.id)
    nodes, front = {root.id: root}, [root]
    for _ in range(STEPS_MAX):
        tied = dict.fromkeys(edge.from_ for task in front for edge in _edges(task))
        tied.update(dict.fromkeys(one for task in front for one in naming.get(task.id, ())))
        tied.update(dict.fromkeys(await call.hub.ties([task.id for task in front])))
        new = [one for one in tied if one not in nodes]
        room = NODES_MAX - len(nodes)
        found = await call.hub.read(partial(_known, root.user_id, nearby, new[:room]))
        nodes.update((task.id, task) for task in found)
        if not found or len(new) > room:
            return nodes, len(new) > room
        front = found
    return nodes, True


def _known(user_id: str, nearby: Mapping[str, Task], ids: list[str], reader: Reader) -> list[Task]:
    """Those of them that are this user's, in order."""
    missing = tuple(one for one in ids if one not in nearby)
    tasks = {**nearby, **reader.known(user_id=user_id, ids=missing, refs=(), keys=()).tasks} if missing else nearby
    return [tasks[one] for one in ids if one in tasks]


def _edges(task: Task) -> Iterator[GraphEdge]:
    """What it names."""
    for dependency in task.depends or ():
        yield GraphEdge(from_=dependency.id, to=task.id, kind="dependency")
    if task.parent_id is not None:
        yield GraphEdge(from_=task.parent_id, to=task.id, kind="subtask")


def _titles(ids: list[str], reader: Reader) -> dict[str, str | None]:
    """A body may be large, so few are held at a time."""
    titles: dict[str, str | None] = {}
    for start in range(0, len(ids), BODIES_AT_ONCE):
        bodies = reader.bodies(tuple(ids[start : start + BODIES_AT_ONCE]))
        titles.update((id_, _title(body)) for id_, body in bodies.items())
    return titles


def _title(body: bytes) -> str | None:
    content = _content.decode(body)
    return content.title or content.input.strip().partition("\n")[0][:TITLE_CHARS_MAX].rstrip() or None
