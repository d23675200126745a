"""Reasoning that only the service can read, and what came of it: the service holds none of it.

It answers as it does for an organization that has nothing stored: reasoning comes back as it was
sealed, together with the items that came of it, or not at all. The texts are those that users of
OpenAI's API report (openai/codex#8132, vendo#1071, mastra#8738).
"""

import base64
import hmac
import secrets
from binascii import Error as NotBase64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

from onrecord.adapters.demo.history import objects, text
from onrecord.adapters.demo.scenes import JsonObject
from onrecord.adapters.demo.wire import encoded

_MAC = 16
_NONCE = 8
_SHOWN = 4
# What an item is when it is added to a stream may not be whole yet.
_READABLE = ("done", "completed")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with a request, as the service says it."""

    message: str
    param: str | None = None
    code: str | None = None
    status: int = 400


class Reasoning:
    """Seals the reasoning of answers and checks what comes back; `key` stands for an account."""

    def __init__(self, key: bytes) -> None:
        """Start with no answer given."""
        self._key = key
        self._lock = Lock()
        self._came_of: dict[str, str] = {}

    def remember(self, output: Sequence[JsonObject]) -> None:
        """Take note of which reasoning the items of an answer came of."""
        reasoning = None
        for item in output:
            if item["type"] == "reasoning":
                reasoning = text(item["id"])
            elif reasoning is not None:
                with self._lock:
                    self._came_of[text(item["id"])] = reasoning

    def sealed(self, item: JsonObject, model: str, stage: str) -> JsonObject:
        """Return an item with its reasoning sealed, differently at each stage; others as they are."""
        if item["type"] != "reasoning":
            return item
        nonce = secrets.token_bytes(_NONCE)
        seal = nonce + self._mac(nonce, text(item["id"]), model, stage)
        return {**item, "encrypted_content": base64.urlsafe_b64encode(seal).decode()}

    def problems(self, request: JsonObject) -> Iterator[Complaint]:
        """Yield what is wrong with the reasoning in a request, and with what came of it."""
        if previous := text(request.get("previous_response_id")):
            why = f"Previous response with id '{previous}' not found."
            yield Complaint(why, "previous_response_id", "previous_response_not_found")
        items = objects(request.get("input"))
        before: set[str] = set()
        for index, item in enumerate(items):
            before.add(text(item.get("id")))
            if item.get("type") == "reasoning":
                yield from self._unreadable(item, text(request.get("model")))
            else:
                yield from self._bereft(item, before, f"input[{index}]")

    def _unreadable(self, item: JsonObject, model: str) -> Iterator[Complaint]:
        item_id, seal = text(item.get("id")), text(item.get("encrypted_content"))
        if not seal:
            yield Complaint(
                f"Item with id '{item_id}' not found. Items are not persisted for Zero Data "
                "Retention organizations.",
                "input",
                status=404,
            )
        elif not self._opens(seal, item_id, model):
            shown = f"{seal[:_SHOWN]}...{seal[-_SHOWN:]}"
            why = f"The encrypted content {shown} could not be verified."
            yield Complaint(why, code="invalid_encrypted_content")

    def _bereft(self, item: JsonObject, before: set[str], where: str) -> Iterator[Complaint]:
        item_id = text(item.get("id"))
        with self._lock:
            reasoning = self._came_of.get(item_id)
        if reasoning is not None and reasoning not in before:
            kind = text(item.get("type"))
            yield Complaint(
                f"Item '{item_id}' of type '{kind}' was provided without its required "
                f"'reasoning' item: '{reasoning}'.",
                where,
            )

    def _opens(self, seal: str, item_id: str, model: str) -> bool:
        try:
            raw = base64.urlsafe_b64decode(seal)
        except (NotBase64, ValueError):
            return False
        nonce, mac = raw[:_NONCE], raw[_NONCE:]
        return any(
            hmac.compare_digest(mac, self._mac(nonce, item_id, model, stage)) for stage in _READABLE
        )

    def _mac(self, nonce: bytes, item_id: str, model: str, stage: str) -> bytes:
        bound = encoded([nonce.hex(), item_id, model, stage])
        return hmac.digest(self._key, bound, "sha256")[:_MAC]
