"""The examples of Ollama's own documents: requests to its chat API, each with what it is answered."""

import json
from dataclasses import dataclass
from typing import Any

from tests.corpus.wire import CORPUS, JsonObject

NAME = "ollama/ollama-docs/api-chat-examples.json"


@dataclass(frozen=True, slots=True)
class Example:
    """A request, and the lines that the documents show of its answer: the first and the last."""

    request: JsonObject
    answer: tuple[JsonObject, ...]

    @property
    def body(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.answer)


def examples() -> list[Example]:
    found: list[Example] = []
    if not (CORPUS / NAME).is_file():
        return []
    told: list[JsonObject] = json.loads((CORPUS / NAME).read_bytes())["examples"]
    for one in told:
        if one["kind"] == "response":
            asked = found.pop()
            found.append(Example(asked.request, (*asked.answer, *one["lines"])))
        else:
            found.append(Example(body_of(one), ()))
    return found


def lines() -> list[JsonObject]:
    """Each line of an answer."""
    return [line for example in examples() for line in example.answer]


def body_of(example: JsonObject) -> JsonObject:
    """A request; one of the documents' holds comments, on lines of their own."""
    body: Any = example["body"]
    kept = body.splitlines() if isinstance(body, str) else [json.dumps(body)]
    told = (line for line in kept if not line.lstrip().startswith("//"))
    found: JsonObject = json.loads("\n".join(told))
    return found
