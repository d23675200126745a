"""How what a tool gives comes back: who writes `toolCallResult`, and into what it is gathered."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from onrecord.adapters.bpmn.feel import Context, parse, walk
from onrecord.adapters.bpmn.model import Collecting, Element, model_of
from onrecord.adapters.bpmn.process_tools import Flavour, sub_process_of, tool_elements
from onrecord.domain.errors import InvalidModel

RESULT: Final = "toolCallResult"

_Way: TypeAlias = Literal["variable", "expression", "mapping"]


@dataclass(frozen=True, slots=True)
class Writing:
    """An element that writes the result, and by which way.

    `variable`: what its script, decision or job gives; `expression`: made of what its job answers;
    `mapping`: one of its output mappings.
    """

    element: str
    way: _Way


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
    flows = ElementFlows(sub_process)
    return Wiring(
        collecting=sub_process.collecting,
        writings=tuple(
            (tool.id, _writings(flows.steps(tool))) for tool in tool_elements(sub_process, flavour)
        ),
    )


def _writings(steps: Iterable[Element]) -> tuple[Writing, ...]:
    writes = (write for step in steps for write in writes_of(step) if _is_result(write))
    return tuple(dict.fromkeys(Writing(write.element.id, write.way) for write in writes))


class ElementFlows:
    """How the elements of a sub-process follow one another: by its flows, and by boundary events."""

    def __init__(self, container: Element) -> None:
        """Read the flows of a sub-process; those that lead nowhere are left out."""
        by_id = {element.id: element for element in container.elements}
        ends = [(flow.source, flow.target) for flow in container.flows]
        boundary = [(each.attached_to, each.id) for each in container.elements if each.attached_to]
        self._following: dict[str, list[Element]] = {}
        for source, target in (*ends, *boundary):
            if target in by_id:
                self._following.setdefault(source, []).append(by_id[target])
        self._ways_in = Counter(target for _, target in ends)
        self._interrupted = {element for element, _ in boundary}

    def reached(self, start: Element) -> Iterator[Element]:
        """Give an element and what is reached from it, nearest first, each once."""
        seen = {start.id}
        waiting = deque([start])
        while waiting:
            current = waiting.popleft()
            yield current
            for target in self._following.get(current.id, ()):
                if target.id not in seen:
                    seen.add(target.id)
                    waiting.append(target)

    def steps(self, tool: Element) -> Iterator[Element]:
        """Give the elements that a tool is made of: each that is reached, and then what it holds."""
        return (step for element in self.reached(tool) for step in element.below())

    def is_linear_at(self, element: Element) -> bool:
        """Whether one way at most leads to an element, and one away from it."""
        ways_out = len(self._following.get(element.id, ()))
        return (
            ways_out < 2 and self._ways_in[element.id] < 2 and element.id not in self._interrupted
        )


@dataclass(frozen=True, slots=True)
class Write:
    """What an element writes: the variable `target` or a part of it, made by the FEEL in `source`.

    A result expression has no target: it makes a context of all the variables that it writes.
    """

    element: Element
    way: _Way
    target: str = ""
    source: str = ""


def writes_of(element: Element) -> Iterator[Write]:
    """Give what an element writes by itself: what its job gives, and then its output mappings."""
    if element.result_variable:
        yield Write(element, "variable", element.result_variable)
    for key, value in element.headers:
        if key == "resultVariable":
            yield Write(element, "variable", value)
        elif key == "resultExpression":
            yield Write(element, "expression", source=value)
    for output in element.outputs:
        yield Write(element, "mapping", output.target, output.source)


def _is_result(write: Write) -> bool:
    match write.way:
        case "variable":
            return write.target == RESULT
        case "expression":
            return _gives_result(write.source)
        case "mapping":
            return write.target.split(".")[0] == RESULT


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
