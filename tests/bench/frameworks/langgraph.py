"""A turn of LangGraph on ours and on its own checkpointers, and by a graph that keeps nothing.

A turn is `graph.invoke` with a prompt of 1 KB; the one node answers with 1 KB. A thread begins with one
`update_state` of all its messages, and grows by two a turn. `cold` has a new saver for each turn, as a new
process would; LangGraph's own savers remember nothing, so theirs have one row. `bare` is the graph without a
checkpointer, which is given all messages; `over` is what a saver costs over that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple
from uuid import uuid4

import onrecord
from tests.bench.append import FLAT
from tests.bench.conversations import copies
from tests.bench.measure import Aim, Contender, Figures, Measure, Pace, Work, over, take_turns
from tests.bench.pairings import GUARANTEES, Database, Pairing
from tests.bench.payload import text
from tests.bench.workspace import Scale, Workspace

_SIZES: Final = (100, 1_000, 5_000)
_MOST: Final = Pace(10, 5)
"""A turn takes up to tenths of a second, and megabytes on disk."""

_AIM: Final = Aim(0.05)
"""At the largest size, on PostgreSQL."""

_BARE: Final = "bare"


class _Side(NamedTuple):
    name: str
    what: str
    guarantees: str
    graph: Callable[[], Any]
    """The graph of the next turn."""


def measures(sqlite: Pairing, postgres: Pairing) -> Iterator[Measure]:
    """Yield a turn at each size on both databases, and how flat it is."""
    workspace, pairings = sqlite.workspace, (sqlite, postgres)
    sides = [side for pairing in pairings for side in _sides(pairing)]
    sizes = _sizes(workspace.scale)
    shown: list[dict[str, Figures]] = []
    for size in sizes:
        figures = _shown(workspace, sides, size)
        shown.append(figures)
        yield Measure(f"frameworks.langgraph.{_BARE}.{size}", "ms", figures[_BARE])
        for pairing in pairings:
            aim = _AIM if pairing is postgres and size == sizes[-1] else None
            yield from _at_size(pairing.database, size, figures, aim)
    first, last = shown[0], shown[-1]
    for name in (_BARE, *(pairing.database for pairing in pairings)):
        aim = None if name == _BARE else FLAT
        yield Measure(f"frameworks.langgraph.{name}.flat", "ms", last[name], first[name], aim)


def graph_of(saver: Any = None) -> Any:
    """Return a graph of one node, which answers with 1 KB."""
    graphs = import_module("langgraph.graph")
    reply = import_module("langchain_core.messages").AIMessage

    def answer(_: Any) -> dict[str, Any]:
        return {"messages": [reply(text(), id=str(uuid4()))]}

    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(graphs.START, "answer")
    graph.add_edge("answer", graphs.END)
    return graph.compile(checkpointer=saver)


def prompts(count: int) -> dict[str, Any]:
    """Return what a graph is given to say so many prompts."""
    prompt = import_module("langchain_core.messages").HumanMessage
    return {"messages": [prompt(text(), id=str(uuid4())) for _ in range(count)]}


def thread(key: str) -> dict[str, Any]:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": key}}


def _sizes(scale: Scale) -> list[int]:
    return sorted({min(size, scale.sizes[-1]) for size in _SIZES})


def _at_size(
    database: Database, size: int, figures: Mapping[str, Figures], aim: Aim | None
) -> Iterator[Measure]:
    name = f"frameworks.langgraph.{database}.{size}"
    ours, cold, bare = figures[database], figures[f"{database}.cold"], figures[_BARE]
    peer = figures.get(f"{database}.peer")
    yield Measure(name, "ms", ours, peer, aim if peer else None)
    yield Measure(f"{name}.cold", "ms", cold, peer)
    over_bare = partial(over, floor=bare, what="over the graph that keeps nothing")
    yield Measure(f"{name}.over", "ms", over_bare(ours), over_bare(peer) if peer else None)


def _shown(workspace: Workspace, sides: Sequence[_Side], size: int) -> dict[str, Figures]:
    """Return what each side showed on threads of so many messages, and the graph that keeps nothing."""
    workspace.say(f"frameworks, LangGraph: {len(sides) + 1} sides in turn, {size:,} messages")
    pace = Pace(
        min(workspace.scale.pace.rounds, _MOST.rounds), min(workspace.scale.pace.each, _MOST.each)
    )
    contenders = [_bare(size), *(_contender(workspace, side, size) for side in sides)]
    names = (_BARE, *(side.name for side in sides))
    return dict(zip(names, take_turns(contenders, pace), strict=True))


def _sides(pairing: Pairing) -> Iterator[_Side]:
    from onrecord.frameworks.langgraph import OnrecordSaver

    database, promise = pairing.database, GUARANTEES[pairing.database]
    store = pairing.workspace.closing.enter_context(onrecord.connect(pairing.our_url()))
    warm = graph_of(OnrecordSaver(store))
    yield _Side(database, "OnrecordSaver", promise, lambda: warm)
    yield _Side(
        f"{database}.cold", "a new OnrecordSaver", promise, lambda: graph_of(OnrecordSaver(store))
    )
    if pairing.workspace.peers:
        peer = graph_of(pairing.saver())
        yield _Side(f"{database}.peer", pairing.saver_name, promise, lambda: peer)


def _bare(size: int) -> Contender:
    graph, said = graph_of(), prompts(size)["messages"]

    def prepare(_: int) -> Work:
        return partial(graph.invoke, {"messages": [*said, *prompts(1)["messages"]]})

    return Contender(
        f"LangGraph, a turn without a checkpointer, {size:,} messages", "none", prepare
    )


def _contender(workspace: Workspace, side: _Side, size: int) -> Contender:
    threads = [thread(f"{side.name}/{size}/{n}") for n in range(copies(workspace, size))]
    for each in threads:
        side.graph().update_state(each, prompts(size), as_node="answer")

    def prepare(number: int) -> Work:
        return partial(side.graph().invoke, prompts(1), threads[number % len(threads)])

    return Contender(
        f"LangGraph, a turn with {side.what}, {size:,} messages", side.guarantees, prepare
    )
