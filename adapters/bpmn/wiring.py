"""How what a tool gives comes back: who writes `toolCallResult`, and into what it is gathered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from onrecord.adapters.bpmn.feel import parse
from onrecord.adapters.bpmn.feel_nodes import Context, walk
from onrecord.adapters.bpmn.model import Collecting, Element
from onrecord.adapters.bpmn.model_reading import model_of
from onrecord.adapters.bpmn.tools import Flavour, sub_process_of, tool_elements
from onrecord.domain.errors import InvalidModel

RESULT: Final = "toolCallResult"


@dataclass(frozen=True, slots=True)
class Writing:
    """An element that writes the result, and by which way.

    `variable`: what its script, decision or job gives; `expression`: made of what its job answers;
    `mapping`: one of its output mappings.
    """

    element: str
    way: Literal["variable", "expression", "mapping"]


@dataclass(frozen=True, slots=True)
class Wiring:
    """Into what a sub-process gathers results, and of each tool who writes its result.

    A tool that nobody writes a result of gives none: the model is told so when a request is made.
    """

    collecting: Collecting
    writings: tuple[tuple[str, tuple[Writing, ...]], ...]


def wiring_of(
    model: Path | bytes, sub_process_id: str | None = None, *, flavour: Flavour = "process"
) -> Wiring:
    """Return how the tools of an ad-hoc sub-process give their results; which one as in `tools_of`."""
    sub_process = sub_process_of(model_of(model), sub_process_id)
    writings = {each.id: tuple(_writings(each)) for each in sub_process.elements}
    following = _following(sub_process)
    return Wiring(
        collecting=sub_process.collecting,
        writings=tuple(
            (tool.id, tuple(each for at in _reached(tool.id, following) for each in writings[at]))
            for tool in tool_elements(sub_process, flavour)
        ),
    )


def _following(sub_process: Element) -> Mapping[str, Sequence[str]]:
    """Return what comes next behind each element: where its flows lead, then its boundary events."""
    following: dict[str, list[str]] = {element.id: [] for element in sub_process.elements}
    ends = [(flow.source, flow.target) for flow in sub_process.flows]
    ends += [(each.attached_to, each.id) for each in sub_process.elements if each.attached_to]
    for source, target in ends:
        if source in following and target in following:
            following[source].append(target)
    return following


def _reached(tool: str, following: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Give the tool and what is reached from it, nearest first, each once."""
    seen = {tool}
    waiting = deque([tool])
    while waiting:
        current = waiting.popleft()
        yield current
        for target in following[current]:
            if target not in seen:
                seen.add(target)
                waiting.append(target)


def _writings(element: Element) -> Iterator[Writing]:
    """Give who writes the result in an element: itself, or what it holds."""
    for each in element.below():
        yield from _written_by(each)


def _written_by(element: Element) -> Iterator[Writing]:
    headers = dict(element.headers)
    if RESULT in (element.result_variable, headers.get("resultVariable")):
        yield Writing(element.id, "variable")
    if _gives_result(headers.get("resultExpression", "")):
        yield Writing(element.id, "expression")
    if any(each.target.split(".")[0] == RESULT for each in element.outputs):
        yield Writing(element.id, "mapping")


def _gives_result(source: str) -> bool:
    """Whether a result expression makes a context with a result in it, in any of its branches."""
    if not source.strip().startswith("="):
        return False
    try:
        tree = parse(source.strip()[1:])
    except InvalidModel:
        # Not a rule of tools: the engine reports what is wrong with it where it runs.
        return False
    contexts = walk(tree, is_entered=lambda node: not isinstance(node, Context))
    return any(
        key == RESULT for node in contexts if isinstance(node, Context) for key, _ in node.entries
    )
