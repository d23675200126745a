"""Where Anthropic's Messages API is spoken, and what paths say where bodies name no model.

Spellings: anthropic 2.11.0, lib/bedrock, lib/vertex; docs.aws.amazon.com, "InvokeModel";
docs.cloud.google.com, "Request predictions with Claude models".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from onrecord.adapters.capture.wire import Endpoint

_IN_BEDROCK: Final = re.compile(
    r"(?:.*/)?model/(?P<model>.+)/invoke(?P<stream>-with-response-stream)?/?"
)
_IN_VERTEX: Final = re.compile(
    r".*publishers/anthropic/models/(?P<model>[^/]+):(?P<stream>streamR|r)awPredict/?"
)


class Asked(NamedTuple):
    """What a path says: the model, and whether the answer is streamed."""

    model: str | None = None
    stream: bool = False


def asked_of(path: str) -> Asked:
    """Return what the path of a request says; Anthropic's own says nothing."""
    plain = unquote(path)
    if found := _IN_BEDROCK.fullmatch(plain):
        return Asked(found["model"], found["stream"] is not None)
    if found := _IN_VERTEX.fullmatch(plain):
        return Asked(found["model"], found["stream"] == "streamR")
    return Asked()


def _in_bedrock() -> Iterator[Endpoint]:
    """Yield the calls of models that are, or may be, Anthropic's.

    An ARN's slash, where it is not escaped, makes it a segment more. That of an inference profile
    of one's own does not tell whose model it is: what has another body is recorded unread.
    """
    profiles = ("model/arn*application-inference-profile/*", "model/arn*application-inference-*")
    for model in ("model/arn:*/*anthropic*", *profiles, "model/*anthropic*"):
        for call in ("invoke", "invoke-with-response-stream"):
            yield Endpoint("POST", f"{model}/{call}", "turn")


_PUBLISHED: Final = "publishers/anthropic/models"

ENDPOINTS: Final = (
    Endpoint("POST", "v1/messages/batches", "batch"),
    Endpoint("GET", "v1/messages/batches/*/results", "results"),
    Endpoint("POST", "v1/messages/batches/*/cancel", "none"),
    Endpoint("GET", "v1/messages/batches/*", "none"),
    Endpoint("GET", "v1/messages/batches", "none"),
    Endpoint("POST", "v1/messages", "turn"),
    Endpoint("POST", f"{_PUBLISHED}/count-tokens:rawPredict", "none"),
    Endpoint("POST", f"{_PUBLISHED}/*:rawPredict", "turn"),
    Endpoint("POST", f"{_PUBLISHED}/*:streamRawPredict", "turn"),
    *_in_bedrock(),
)
"""Its own, Vertex's and Bedrock's."""
