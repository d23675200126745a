"""What the tools of MCP servers give, as texts and documents.

The shapes are those of the Model Context Protocol's schemas (2025-06-18 to 2026-07-28), as the
`mcp` SDK has them: `CallToolResult`, `ReadResourceResult` and the blocks of content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from onrecord.adapters.inputs.document_inputs import (
    Unstored,
    decoded,
    from_outside,
    linked,
    name_in,
)
from onrecord.adapters.tools.tool import Unfolded, plain
from onrecord.domain import jsontext
from onrecord.domain.content import Text
from onrecord.domain.errors import MalformedJson

_MODULES: Final = frozenset({"mcp", "mcp_types"})


def is_told(value: object) -> bool:
    """Whether a value is a result, or a block of content, of the `mcp` SDK."""
    kind = type(value)
    return kind.__name__ in _KINDS and kind.__module__.partition(".")[0] in _MODULES


def told(value: Any) -> Unfolded:
    """Return what a result or a block says."""
    return _KINDS[type(value).__name__](value)


def _result(result: Any) -> Unfolded:
    """Return the blocks of a result, and its structured content where no text says the same.

    A server "SHOULD also return the serialized JSON in a TextContent block" (MCP, "Tools"), so that
    it would be told twice. Absent is not null there.
    """
    blocks = list(_blocks(result.content))
    if "structured_content" in result.model_fields_set:
        blocks += _structured(result.structured_content, blocks)
    return Unfolded(blocks or None, "/content", is_error=bool(result.is_error))


def _blocks(content: Sequence[object]) -> Iterator[object]:
    """Yield the blocks of a result; those of a kind that is not known as their JSON."""
    for block in content:
        yield block if is_told(block) else _as_json(block)


def _structured(value: Any, said: list[object]) -> list[Text]:
    structured = jsontext.write_canonical(value)
    texts = (getattr(block, "text", None) for block in said)
    if any(isinstance(text, str) and _canonical(text) == structured for text in texts):
        return []
    return [Text(text=jsontext.write(value).decode())]


def _canonical(text: str) -> bytes | None:
    try:
        return jsontext.write_canonical(jsontext.read(text))
    except MalformedJson:
        return None


def _contents(result: Any) -> Unfolded:
    return Unfolded(list(_blocks(result.contents)) or None, "/contents")


def _text(block: Any) -> Unfolded:
    return Unfolded(Text(text=block.text))


def document_in(encoded: str, declared: str | None, uri: str = "") -> Unstored | None:
    """Return the document that base64 holds; None where it is none: then it is told as it came."""
    data = decoded(encoded)
    return None if data is None else from_outside(data, declared, name_in(uri))


def document_of(text: str, declared: str | None, uri: str) -> Unstored:
    """Return the text of an embedded resource as a document."""
    data = text.encode(errors="surrogatepass")
    return from_outside(data, declared or "text/plain", name_in(uri))


def _media(block: Any) -> Unfolded:
    return Unfolded(document_in(block.data, block.mime_type) or _as_json(block))


def _embedded(block: Any) -> Unfolded:
    return Unfolded(block.resource)


def _text_resource(resource: Any) -> Unfolded:
    return Unfolded(document_of(resource.text, resource.mime_type, str(resource.uri)))


def _blob_resource(resource: Any) -> Unfolded:
    document = document_in(resource.blob, resource.mime_type, str(resource.uri))
    return Unfolded(document or _as_json(resource))


def _link(link: Any) -> Unfolded:
    """Return a document at an address that a provider can read; other addresses stay words."""
    named = link.name or link.title
    return Unfolded(linked(str(link.uri), link.mime_type, named) or _as_json(link))


def _as_json(block: object) -> Text:
    return Text(text=jsontext.write(plain(block)).decode())


_KINDS: Final[Mapping[str, Callable[[Any], Unfolded]]] = {
    "CallToolResult": _result,
    "ReadResourceResult": _contents,
    "TextContent": _text,
    "ImageContent": _media,
    "AudioContent": _media,
    "ResourceLink": _link,
    "EmbeddedResource": _embedded,
    "TextResourceContents": _text_resource,
    "BlobResourceContents": _blob_resource,
}
"""Names of types to what tells their values."""
