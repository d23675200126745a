"""From a BPMN file to a model. Namespaces go by their URI, whatever their prefix."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from onrecord.adapters.bpmn.model import Collecting, Element, Flow, Mapping, Model
from onrecord.adapters.bpmn.xml_tree import Node, bytes_of, tree_of
from onrecord.domain.errors import InvalidModel

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
        attached_to=node.attributes.get("attachedToRef"),
        properties=_pairs(_extended(node, "properties", "property"), "name"),
        headers=_pairs(_extended(node, "taskHeaders", "header"), "key"),
        inputs=_mappings(_extended(node, "ioMapping", "input")),
        outputs=_mappings(_extended(node, "ioMapping", "output")),
        job_type=_said(_extended(node, "taskDefinition"), "type"),
        template=node.attributes.get(f"{_ZEEBE}modelerTemplate"),
        result_variable=_said(
            _extended(node, "script") + _extended(node, "calledDecision"), "resultVariable"
        ),
        version_tag=_said(_extended(node, "versionTag"), "value"),
        collecting=_collecting(node),
        elements=tuple(_element(child, led_to) for child in node.children if _is_node(child)),
        flows=flows,
    )


def _is_node(node: Node) -> bool:
    return node.tag in _FLOW_NODES


def _documentation(node: Node) -> str | None:
    """Return the first documentation in plain text, trimmed; None for a blank one."""
    for documentation in node.all(f"{_BPMN}documentation"):
        if documentation.attributes.get("textFormat", _PLAIN_TEXT) == _PLAIN_TEXT:
            return documentation.text.strip() or None
    return None


def _flow(node: Node) -> Flow:
    said = node.attributes
    conditions = node.all(f"{_BPMN}conditionExpression")
    return Flow(
        id=said.get("id", ""),
        source=said.get("sourceRef", ""),
        target=said.get("targetRef", ""),
        condition=conditions[0].text if conditions else None,
    )


def _collecting(node: Node) -> Collecting:
    """Read what the engine's own ad-hoc sub-process says, else what a loop over tool calls says."""
    ad_hoc = _extended(node, "adHoc")
    loop = node.within(
        f"{_BPMN}multiInstanceLoopCharacteristics", _EXTENSIONS, f"{_ZEEBE}loopCharacteristics"
    )
    return Collecting(
        collection=_said(ad_hoc + loop, "outputCollection"),
        element=_said(ad_hoc + loop, "outputElement"),
        active_elements=_said(ad_hoc, "activeElementsCollection"),
    )


def _extended(node: Node, *names: str) -> tuple[Node, ...]:
    return node.within(_EXTENSIONS, *(_ZEEBE + name for name in names))


def _said(nodes: Iterable[Node], attribute: str) -> str | None:
    values = (node.attributes.get(attribute) for node in nodes)
    return next((value for value in values if value is not None), None)


def _mappings(nodes: Iterable[Node]) -> tuple[Mapping, ...]:
    return tuple(
        Mapping(node.attributes.get("source", ""), node.attributes.get("target", ""))
        for node in nodes
    )


def _pairs(nodes: Iterable[Node], key: str) -> tuple[tuple[str, str], ...]:
    return tuple((node.attributes.get(key, ""), node.attributes.get("value", "")) for node in nodes)
