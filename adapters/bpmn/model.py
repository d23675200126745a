"""A process model, as far as it says which tools there are and what comes back of them.

Names are those of BPMN 2.0 and of Camunda's extensions to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

AD_HOC_SUB_PROCESS: Final = "adHocSubProcess"

_TOOL_CONTAINER: Final = "io.camunda.agenticai.toolContainer"
_AGENT_TEMPLATE: Final = "io.camunda.connectors.agenticai.aiagent.jobworker.v1"
_AGENT_JOB: Final = "io.camunda.agenticai:aiagent-job-worker:"


@dataclass(frozen=True, slots=True)
class Mapping:
    """One mapping of variables: into an element, or out of it; `source` as it is written."""

    source: str
    target: str

    @property
    def expression(self) -> str | None:
        """The FEEL expression that it is, without its `=`; None for a plain text."""
        trimmed = self.source.strip()
        return trimmed[1:] if trimmed.startswith("=") else None


@dataclass(frozen=True, slots=True)
class Flow:
    """A sequence flow, by the ids of what it leads from and to."""

    id: str
    source: str
    target: str
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class Collecting:
    """How a sub-process gathers results: into which collection, each made by which expression."""

    collection: str | None = None
    element: str | None = None
    active_elements: str | None = None


@dataclass(frozen=True, slots=True)
class Element:
    """A process or a flow node of one: `kind` is its BPMN name, such as `serviceTask`.

    `has_incoming`: a sequence flow leads to it. `attached_to`: the element whose boundary event it is.
    `properties`, `headers`, `job_type`, `template` and `result_variable` are what extensions say. A
    process and a sub-process have `elements` and `flows`.
    """

    id: str
    kind: str
    name: str | None = None
    documentation: str | None = None
    has_incoming: bool = False
    is_triggered_by_event: bool = False
    attached_to: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    inputs: tuple[Mapping, ...] = ()
    outputs: tuple[Mapping, ...] = ()
    job_type: str | None = None
    template: str | None = None
    result_variable: str | None = None
    version_tag: str | None = None
    collecting: Collecting = Collecting()
    elements: tuple[Element, ...] = ()
    flows: tuple[Flow, ...] = ()

    @property
    def description(self) -> str | None:
        """What it is for: its documentation, else its name."""
        return self.documentation or self.name or None

    @property
    def is_agentic(self) -> bool:
        """Whether an ad-hoc sub-process holds the tools of an agent: by property, template or job."""
        return self.kind == AD_HOC_SUB_PROCESS and (
            (_TOOL_CONTAINER, "true") in self.properties
            or self.template == _AGENT_TEMPLATE
            or (self.job_type or "").startswith(_AGENT_JOB)
        )

    def property(self, name: str) -> str | None:
        """Return the value of an extension property, the first of that name."""
        return next((value for key, value in self.properties if key == name), None)

    def below(self) -> Iterator[Element]:
        """Give it and all within it, in the order of the model."""
        yield self
        for element in self.elements:
            yield from element.below()


@dataclass(frozen=True, slots=True)
class Model:
    """The processes of a file, and the SHA-256 of its bytes in hex."""

    sha256: str
    processes: tuple[Element, ...]

    def ad_hoc_sub_processes(self) -> Iterator[Element]:
        """Give the ad-hoc sub-processes, wherever they stand, in the order of the model."""
        for process in self.processes:
            yield from (each for each in process.below() if each.kind == AD_HOC_SUB_PROCESS)
