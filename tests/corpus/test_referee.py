"""Requests as they were recorded: what was accepted breaks no rule, what was refused breaks one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import pytest

import onrecord
from tests.corpus.wire import CORPUS, MISSING, JsonObject, below, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

APIS = {
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
    "/converse": "bedrock-converse",
    "/converse-stream": "bedrock-converse",
    "/messages": "anthropic-messages",
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/responses/compact": "openai-responses",
}
OK, BAD_REQUEST = 200, 400
# Where the path of a URL names the model, and what a call of the SDK names it with.
IN_THE_PATH = {
    "gemini": (r"/models/([^:]+):", "model"),
    "bedrock-converse": (r"/model/([^/]+)/", "modelId"),
}
# Long strings that were cut when they were recorded.
CUT = "...<truncated "

# What was accepted although it breaks a rule, by server and rule.
ACCEPTED_ALL_THE_SAME = {
    ("api.deepseek.com", "O3"): "its own Responses server takes reasoning before any message",
    ("api.deepseek.com", "O5"): "its own Responses server gives reasoning ids of another form",
    (
        "generativelanguage.googleapis.com",
        "G6",
    ): "Vertex refuses an empty text, this service does not",
}

# What was refused for a reason that no request alone tells, by the beginning of the message.
OUT_OF_SCOPE = {
    "This model does not support effort level": "what a model can do",
    "Web search options not supported with this model.": "what a model can do",
    "Tool call validation failed": "what the model itself said",
    "The provided model identifier is invalid.": "which models there are",
    "Invalid 'temperature': decimal below minimum value.": "numbers are not checked for their size",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request, and whether it was accepted."""

    api: str
    host: str
    request: JsonObject
    status: int
    complaint: str


@cache
def sent(name: str) -> tuple[Sent, ...]:
    """The requests of a file; none, if it holds answers only."""
    return tuple(one(each) for each in recorded(name) if "request" in each and is_checked(each))


def recorded(name: str) -> list[JsonObject]:
    held: Any = json.loads((CORPUS / name).read_bytes())
    if isinstance(held, dict):
        interactions: list[JsonObject] = cast("JsonObject", held).get("interactions", [])
        return interactions
    return cast("list[JsonObject]", held)


def is_checked(exchange: JsonObject) -> bool:
    return any(url(exchange).path.endswith(path) for path in APIS)


def url(exchange: JsonObject) -> Any:
    request: JsonObject = exchange["request"]
    return urlsplit(str(request.get("uri") or request["url"]))


def one(exchange: JsonObject) -> Sent:
    body, response = exchange["request"]["body"], exchange["response"]
    status: int = response.get("status") or response["status_code"]
    place = url(exchange)
    api = next(api for path, api in APIS.items() if place.path.endswith(path))
    request: JsonObject = json.loads(body) if isinstance(body, str) else body
    return Sent(
        api=api,
        host=place.hostname,
        request={**request, **model_in(api, place.path)},
        status=status,
        complaint=complaint_of(response["body"]) if status == BAD_REQUEST else "",
    )


def model_in(api: str, path: str) -> JsonObject:
    """The model that a path names, as the arguments of a call name it."""
    if api not in IN_THE_PATH:
        return {}
    pattern, name = IN_THE_PATH[api]
    found = re.search(pattern, path)
    assert found is not None, path
    return {name: unquote(found[1])}


def complaint_of(body: JsonObject) -> str:
    told: JsonObject = body.get("error", body)
    return str(told["message"])


def files() -> list[str]:
    return [name for name in below("*/*/*.json") if sent(name)]


def refused() -> list[Sent]:
    return [each for name in files() for each in sent(name) if each.status == BAD_REQUEST]


@pytest.mark.parametrize("name", files())
def test_what_was_accepted_breaks_no_rule(name: str) -> None:
    for each in sent(name):
        if each.status != OK:
            continue
        verdict = onrecord.check_request(each.api, each.request)
        assert verdict.types is not None
        breaches = [
            breach
            for breach in verdict.violations
            if (each.host, breach.rule) not in ACCEPTED_ALL_THE_SAME and CUT not in breach.said
        ]
        assert breaches == []


@pytest.mark.parametrize("each", refused(), ids=lambda each: each.complaint[:40])
def test_what_was_refused_is_refused_in_the_services_words(each: Sent) -> None:
    said = [breach.said for breach in onrecord.check_request(each.api, each.request).violations]
    reasons = [why for start, why in OUT_OF_SCOPE.items() if each.complaint.startswith(start)]
    assert (said, len(reasons)) == ([each.complaint], 0) or (said, len(reasons)) == ([], 1)
