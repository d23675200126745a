"""Small process models, made of the parts that a test is about."""

from xml.sax.saxutils import quoteattr

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
ZEEBE = "http://camunda.org/schema/zeebe/1.0"
AGENT = '<z:properties><z:property name="io.camunda.agenticai.toolContainer" value="true"/></z:properties>'


def definitions(*processes: str) -> bytes:
    body = "".join(processes)
    return f'<b:definitions xmlns:b="{BPMN}" xmlns:z="{ZEEBE}">{body}</b:definitions>'.encode()


def process(*elements: str, id: str = "Desk", extensions: str = "") -> str:
    return f'<b:process id="{id}">{extended(extensions)}{"".join(elements)}</b:process>'


def ad_hoc(*elements: str, id: str = "Tools", extensions: str = AGENT, more: str = "") -> str:
    inner = "".join(elements)
    return f'<b:adHocSubProcess id="{id}" {more}>{extended(extensions)}{inner}</b:adHocSubProcess>'


def desk(*elements: str) -> bytes:
    """A model with one agent, which has these elements."""
    return definitions(process(ad_hoc(*elements)))


def node(kind: str, id: str, *inner: str, more: str = "", extensions: str = "") -> str:
    return f'<b:{kind} id="{id}" {more}>{extended(extensions)}{"".join(inner)}</b:{kind}>'


def task(id: str, *sources: str, outputs: tuple[str, ...] = (), more: str = "") -> str:
    """A service task whose inputs, and outputs, have these sources."""
    mapped = "".join(mapping("input", each, f"in{at}") for at, each in enumerate(sources))
    mapped += "".join(mapping("output", each, f"out{at}") for at, each in enumerate(outputs))
    return node("serviceTask", id, more=more, extensions=f"<z:ioMapping>{mapped}</z:ioMapping>")


def mapping(direction: str, source: str, target: str) -> str:
    return f'<z:{direction} source={quoteattr(source)} target="{target}"/>'


def flow(source: str, target: str, condition: str | None = None) -> str:
    said = (
        ""
        if condition is None
        else f"<b:conditionExpression><![CDATA[{condition}]]></b:conditionExpression>"
    )
    ends = f'id="{source}_{target}" sourceRef="{source}" targetRef="{target}"'
    return f"<b:sequenceFlow {ends}>{said}</b:sequenceFlow>"


def extended(extensions: str) -> str:
    return f"<b:extensionElements>{extensions}</b:extensionElements>" if extensions else ""


def properties(**named: str) -> str:
    held = "".join(f'<z:property name="{name}" value="{value}"/>' for name, value in named.items())
    return f"<z:properties>{held}</z:properties>"


def gateway(type: str) -> str:
    return properties(**{"io.camunda.agenticai.gateway.type": type})
