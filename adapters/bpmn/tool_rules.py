"""What the tools of an agent leave unsaid: what they are for, and what they give back.

The rules agent-tool-documentation and agent-tool-output-key of bpmnlint-plugin-camunda-compat; their
names are kept. Both only warn: such a tool is called, by its name alone or without an answer.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from onrecord.adapters.bpmn.lint import Finding
from onrecord.adapters.bpmn.model import Element, model_of
from onrecord.adapters.bpmn.process_tools import RESULT, tool_elements

_ACTIVITIES: Final = frozenset(
    (
        *("task", "userTask", "serviceTask", "sendTask", "receiveTask", "manualTask"),
        *("businessRuleTask", "scriptTask", "callActivity"),
        *("subProcess", "transaction", "adHocSubProcess"),
    )
)
_IN_ANY_CASE: Final = re.compile(rf"\b{RESULT}\b", re.IGNORECASE)
_ADDS: Final = re.compile(rf"=?\s*context\s+put\s*\(\s*{RESULT}\s*,")
"""What takes the result so far and puts something into it."""


@dataclass(frozen=True, slots=True)
class _Write:
    """A variable that an element of a tool writes, or an expression that may write several."""

    element: Element
    text: str
    is_expression: bool = False
    source: str = ""

    def spelled(self) -> str | None:
        """Return how it spells the result, in whatever case; None where it writes something else."""
        found: list[str] = _IN_ANY_CASE.findall(self.text)
        if self.is_expression:
            return RESULT if RESULT in found else next(iter(found), None)
        name = self.text.partition(".")[0]
        return name if name.lower() == RESULT.lower() else None

    @property
    def is_result(self) -> bool:
        """Whether it writes the result, or a part of it."""
        return self.spelled() == RESULT

    @property
    def replaces(self) -> bool:
        """Whether what was the result before is lost."""
        if not self.is_result or (not self.is_expression and self.text != RESULT):
            return False
        return _ADDS.match(self.source) is None


def lint_tools(model: Path | bytes) -> tuple[Finding, ...]:
    """Return what the tools of agents leave unsaid in a BPMN file or its bytes, in its order.

    Of processes that an engine executes. InvalidModel for what is no BPMN.
    """
    return tuple(
        finding
        for process in model_of(model).processes
        if process.is_executable
        for sub_process in process.below()
        if sub_process.is_agentic
        for finding in _tools_of(sub_process)
    )


def _tools_of(sub_process: Element) -> Iterator[Finding]:
    ways = _Ways(sub_process)
    for tool in tool_elements(sub_process, "process"):
        if tool.kind in _ACTIVITIES:
            yield from _undocumented(tool)
            yield from _unreturned(_Steps(tool, ways))


def _undocumented(tool: Element) -> Iterator[Finding]:
    if tool.documentation is None:
        why = "it has no documentation: say what it is for, so that the model knows when to call it"
        yield Finding(tool.id, "agentToolDocumentationMissing", why)


def _unreturned(steps: _Steps) -> Iterator[Finding]:
    """Look at what a tool writes, wherever it leads to; of those that miss the result, the first."""
    writes = [write for element in steps.reached for write in _writes(element)]
    if not writes:
        why = f"it gives nothing back: write {RESULT}, if only that it is done"
        yield Finding(steps.reached[0].id, "agentToolResultMissing", why)
    elif not any(write.is_result for write in writes):
        misspelled = next((write for write in writes if write.spelled() is not None), None)
        if misspelled is None:
            why = f"what it writes is not given back: write {RESULT}"
            yield Finding(writes[0].element.id, "agentToolOutputKeyInvalid", why)
        else:
            why = f"{misspelled.spelled()} is not given back: write {RESULT}"
            yield Finding(misspelled.element.id, "agentToolOutputKeyCasingInvalid", why)
    elif steps.is_linear:
        yield from _overwritten([write for write in writes if write.replaces])


def _overwritten(writes: list[_Write]) -> Iterator[Finding]:
    for before, write in pairwise(writes):
        name = before.element.name or before.element.id
        why = (
            f"it overwrites the {RESULT} of '{name}': write a part of it, or put it into a context"
        )
        yield Finding(write.element.id, "agentToolOutputKeyOverwrite", why)


class _Ways:
    """How the elements of a sub-process follow one another: by flows, and by boundary events."""

    def __init__(self, container: Element) -> None:
        by_id = {element.id: element for element in container.elements}
        ends = [(flow.source, flow.target) for flow in container.flows]
        boundary = [(each.attached_to, each.id) for each in container.elements if each.attached_to]
        self.following: dict[str, list[Element]] = {}
        self._ways_in = Counter(target for _, target in ends)
        self._interrupted = {element for element, _ in boundary}
        for source, target in (*ends, *boundary):
            if target in by_id:
                self.following.setdefault(source, []).append(by_id[target])

    def is_linear_at(self, element: Element) -> bool:
        """Whether one way at most leads to an element, and one away from it."""
        ways_out = len(self.following.get(element.id, ()))
        return (
            ways_out < 2 and self._ways_in[element.id] < 2 and element.id not in self._interrupted
        )


class _Steps:
    """The elements that a tool is made of, nearest first: what follows it, and what is within.

    `is_linear` says that they are one chain: of two ways only one may be taken.
    """

    def __init__(self, tool: Element, ways: _Ways) -> None:
        self.reached: list[Element] = []
        self.is_linear = True
        waiting, seen = deque([(tool, ways)]), {id(tool)}
        while waiting:
            element, around = waiting.popleft()
            self.reached.append(element)
            steps = [(each, around) for each in around.following.get(element.id, ())]
            if element.elements:
                inner = _Ways(element)
                steps += [(each, inner) for each in element.elements]
            starts = sum(not each.has_incoming for each in element.elements)
            self.is_linear &= around.is_linear_at(element) and starts < 2
            for each in steps:
                if id(each[0]) not in seen:
                    seen.add(id(each[0]))
                    waiting.append(each)


def _writes(element: Element) -> Iterator[_Write]:
    for output in element.outputs:
        yield _Write(element, output.target, source=output.source)
    if element.result_variable:
        yield _Write(element, element.result_variable)
    for key, value in element.headers:
        if key in ("resultVariable", "resultExpression"):
            yield _Write(element, value, is_expression=key == "resultExpression")
