"""A process model, as far as it says which tools there are and what comes back of them.

Names are those of BPMN 2.0 and of Camunda's extensions to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast
from xml.etree.ElementTree import ParseError  # Only the error: this parses nothing.

from onrecord.adapters.inputs.arguments import kind_of
from onrecord.domain.errors import InvalidInput, InvalidModel, NotInstalled

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
    `is_executable`: engines execute the process.
    `properties`, `headers`, `job_type`, `template` and `result_variable` are what extensions say. A
    process and a sub-process have `elements` and `flows`.
    """

    id: str
    kind: str
    name: str | None = None
    documentation: str | None = None
    has_incoming: bool = False
    is_triggered_by_event: bool = False
    is_executable: bool = False
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


# XML from anyone, as a tree: hardened against entities, external references, depth and size.

try:
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # no stubs
    from defusedxml.ElementTree import DefusedXMLParser  # type: ignore[import-untyped]  # no stubs
except ModuleNotFoundError as exc:
    raise NotInstalled("BPMN", "defusedxml", "bpmn") from exc

LARGEST: Final = 8 * 1024 * 1024
"""Bytes: twice what an engine takes in one deployment."""

DEEPEST: Final = 200
"""Elements within elements."""

_REFUSED: Final = cast("type[ValueError]", DefusedXmlException)


@dataclass(frozen=True, slots=True)
class Node:
    """An XML element: `{namespace}name`, its attributes spelled likewise, its text and children."""

    tag: str
    attributes: dict[str, str]
    text: str
    children: tuple[Node, ...]

    def all(self, *tags: str) -> tuple[Node, ...]:
        """Return the children that have one of these tags, in order."""
        return tuple(child for child in self.children if child.tag in tags)

    def within(self, *tags: str) -> tuple[Node, ...]:
        """Return what is reached by these tags, one step each."""
        nodes: tuple[Node, ...] = (self,)
        for tag in tags:
            nodes = tuple(child for node in nodes for child in node.all(tag))
        return nodes


def bytes_of(source: Path | bytes) -> bytes:
    """Return a file's bytes, or the bytes; InvalidModel for more than `LARGEST` of them."""
    match source:
        case bytes():
            data = source
        case Path():
            data = _beginning_of(source)
        case _:
            raise InvalidInput(f"a model is a pathlib.Path or bytes, not {kind_of(source)}")
    if len(data) > LARGEST:
        raise InvalidModel(f"the model is larger than {LARGEST // 1024**2} MiB: split it")
    return data


def _beginning_of(path: Path) -> bytes:
    """Read no more than it takes to see that it is too large."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as exc:
        raise InvalidModel(f"the model cannot be read: {exc.strerror}") from exc


def tree_of(data: bytes) -> Node:
    """Return the root of an XML document; InvalidModel for what is none, or does harm."""
    target = _Tree()
    parser: Any = DefusedXMLParser(target=target, forbid_dtd=True)
    try:
        parser.feed(data)
        return cast("Node", parser.close())
    except InvalidModel:
        raise
    except _REFUSED as exc:
        raise InvalidModel(
            "the model declares a document type or entities: no model needs them, remove them"
        ) from exc
    except (ParseError, ValueError, LookupError) as exc:
        raise InvalidModel(f"the model is not XML: {exc}") from exc


@dataclass(slots=True)
class _Open:
    """An element that has begun and not ended."""

    tag: str
    attributes: dict[str, str]
    text: list[str] = field(default_factory=list[str])
    children: list[Node] = field(default_factory=list[Node])

    def closed(self) -> Node:
        return Node(self.tag, self.attributes, "".join(self.text), tuple(self.children))


class _Tree:
    """What the parser tells of its elements to: keeps those that are open."""

    def __init__(self) -> None:
        self._open = [_Open("", {})]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) > DEEPEST:
            raise InvalidModel(f"the model nests elements more than {DEEPEST} deep: flatten it")
        self._open.append(_Open(tag, attributes))

    def data(self, text: str) -> None:
        self._open[-1].text.append(text)

    def end(self, tag: str) -> None:
        closed = self._open.pop()
        assert closed.tag == tag, "expat pairs tags"
        self._open[-1].children.append(closed.closed())

    def close(self) -> Node:
        return self._open[0].children[0]


# From a BPMN file to a model. Namespaces go by their URI, whatever their prefix.

_BPMN: Final = "{http://www.omg.org/spec/BPMN/20100524/MODEL}"
_ZEEBE: Final = "{http://camunda.org/schema/zeebe/1.0}"
_EXTENSIONS: Final = f"{_BPMN}extensionElements"

_FLOW_NODES: Final = frozenset(
    _BPMN + name
    for name in (
        *("task", "userTask", "serviceTask", "sendTask", "receiveTask", "manualTask"),
        *("businessRuleTask", "scriptTask", "callActivity"),
        *("subProcess", "transaction", "adHocSubProcess"),
        *("exclusiveGateway", "parallelGateway", "inclusiveGateway", "complexGateway"),
        *("eventBasedGateway", "startEvent", "endEvent", "boundaryEvent"),
        *("intermediateCatchEvent", "intermediateThrowEvent"),
    )
)
_PLAIN_TEXT: Final = "text/plain"
_TRUE: Final = frozenset({"true", "1"})


def model_of(source: Path | bytes) -> Model:
    """Return the model that a file or its bytes hold; InvalidModel for what is no BPMN.

    The same bytes are read once.
    """
    return _model_of(bytes_of(source))


@lru_cache(maxsize=4)
def _model_of(data: bytes) -> Model:
    root = tree_of(data)
    if root.tag != f"{_BPMN}definitions":
        raise InvalidModel(
            f"not a BPMN model: its root is {_shown(root.tag)}, not definitions of BPMN 2.0"
        )
    processes = tuple(_element(node, frozenset()) for node in root.all(f"{_BPMN}process"))
    return Model(hashlib.sha256(data).hexdigest(), processes)


def _shown(tag: str) -> str:
    return tag.rpartition("}")[2][:60]


def _element(node: Node, targets: frozenset[str]) -> Element:
    """Read a process or a flow node; `targets` are the ids that sequence flows beside it lead to."""
    flows = tuple(_flow(flow) for flow in node.all(f"{_BPMN}sequenceFlow"))
    led_to = frozenset(flow.target for flow in flows)
    element_id = node.attributes.get("id", "")
    return Element(
        id=element_id,
        kind=node.tag.removeprefix(_BPMN),
        name=node.attributes.get("name"),
        documentation=_documentation(node),
        has_incoming=bool(node.all(f"{_BPMN}incoming")) or element_id in targets,
        is_triggered_by_event=node.attributes.get("triggeredByEvent") in _TRUE,
        is_executable=node.attributes.get("isExecutable") in _TRUE,
        attached_to=node.attributes.get("attachedToRef"),
        properties=_pairs(_extended(node, "properties", "property"), "name"),
        headers=_pairs(_extended(node, "taskHeaders", "header"), "key"),
        inputs=_mappings(_extended(node, "ioMapping", "input")),
        outputs=_mappings(_extended(node, "ioMapping", "output")),
        job_type=_first_attribute(_extended(node, "taskDefinition"), "type"),
        template=node.attributes.get(f"{_ZEEBE}modelerTemplate"),
        result_variable=_first_attribute(
            _extended(node, "script") + _extended(node, "calledDecision"), "resultVariable"
        ),
        version_tag=_first_attribute(_extended(node, "versionTag"), "value"),
        collecting=_collecting(node),
        elements=tuple(
            _element(child, led_to) for child in node.children if child.tag in _FLOW_NODES
        ),
        flows=flows,
    )


def _documentation(node: Node) -> str | None:
    """Return the first documentation in plain text, trimmed; None for a blank one."""
    for documentation in node.all(f"{_BPMN}documentation"):
        if documentation.attributes.get("textFormat", _PLAIN_TEXT) == _PLAIN_TEXT:
            return documentation.text.strip() or None
    return None


def _flow(node: Node) -> Flow:
    attributes = node.attributes
    conditions = node.all(f"{_BPMN}conditionExpression")
    return Flow(
        id=attributes.get("id", ""),
        source=attributes.get("sourceRef", ""),
        target=attributes.get("targetRef", ""),
        condition=conditions[0].text if conditions else None,
    )


def _collecting(node: Node) -> Collecting:
    """Read what the engine's own ad-hoc sub-process says, else what a loop over tool calls says."""
    ad_hoc = _extended(node, "adHoc")
    loop = node.within(
        f"{_BPMN}multiInstanceLoopCharacteristics", _EXTENSIONS, f"{_ZEEBE}loopCharacteristics"
    )
    return Collecting(
        collection=_first_attribute(ad_hoc + loop, "outputCollection"),
        element=_first_attribute(ad_hoc + loop, "outputElement"),
        active_elements=_first_attribute(ad_hoc, "activeElementsCollection"),
    )


def _extended(node: Node, *names: str) -> tuple[Node, ...]:
    return node.within(_EXTENSIONS, *(_ZEEBE + name for name in names))


def _first_attribute(nodes: Iterable[Node], attribute: str) -> str | None:
    values = (node.attributes.get(attribute) for node in nodes)
    return next((value for value in values if value is not None), None)


def _mappings(nodes: Iterable[Node]) -> tuple[Mapping, ...]:
    return tuple(
        Mapping(node.attributes.get("source", ""), node.attributes.get("target", ""))
        for node in nodes
    )


def _pairs(nodes: Iterable[Node], key: str) -> tuple[tuple[str, str], ...]:
    return tuple((node.attributes.get(key, ""), node.attributes.get("value", "")) for node in nodes)
