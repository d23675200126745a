"""How what a tool gives comes back: who writes `toolCallResult`, and into what it is gathered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from hansard.adapters.bpmn.feel import parse
from hansard.adapters.bpmn.feel_nodes import Context, walk
from hansard.adapters.bpmn.model import Collecting, Element
from hansard.adapters.bpmn.model_reading import model_of
from hansard.adapters.bpmn.tools import Flavour, sub_process_of, tool_elements
from hansard.domain.errors import InvalidModel

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
    tools = tool_elements(sub_process, flavour)
    return Wiring(
        collecting=sub_process.collecting,
        writings=tuple((tool.id, tuple(_writings(sub_process, tool))) for tool in tools),
    )


def _writings(sub_process: Element, tool: Element) -> Iterator[Writing]:
    for reached in _reached(sub_process, tool):
        for element in reached.below():
            yield from _written_by(element)


def _reached(sub_process: Element, tool: Element) -> Iterator[Element]:
    """Give the tool and what flows lead to from it, its boundary events included, each once."""
    by_id = {element.id: element for element in sub_process.elements}
    seen = {tool.id}
    waiting = [tool.id]
    while waiting:
        current = waiting.pop(0)
        yield by_id[current]
        for target in _next(sub_process, current):
            if target in by_id and target not in seen:
                seen.add(target)
                waiting.append(target)


def _next(sub_process: Element, element_id: str) -> Iterator[str]:
    yield from (flow.target for flow in sub_process.flows if flow.source == element_id)
    yield from (each.id for each in sub_process.elements if each.attached_to == element_id)


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
