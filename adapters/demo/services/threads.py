"""Threads: conversations that the service holds, so that a request sends only what is new (R22).

Each answer can be continued once, by its id. A thread keeps the system prompt and the tools that it
was created with, and refuses a request with others. Shapes and codes: anthropic 2.11, lib/threads
and types/thread_*_error.
"""

from collections.abc import Sequence
from threading import Lock

from onrecord.adapters.demo.services.scenes import HttpError, JsonObject
from onrecord.adapters.demo.services.signatures import objects, text

_KEPT = ("system", "tools")


class Threads:
    """The conversations that a server holds, by the id of their last message."""

    def __init__(self) -> None:
        """Hold none."""
        self._lock = Lock()
        self._held: dict[str, JsonObject] = {}
        self._continued: set[str] = set()

    def whole(self, request: JsonObject) -> JsonObject | HttpError:
        """Return a request with all that is held before it; the error where it cannot go on."""
        thread = request.get("thread")
        if not isinstance(thread, dict) or thread.get("type") != "continue":
            return request
        previous = text(thread.get("previous_message_id"))
        with self._lock:
            held, is_continued = self._held.get(previous), previous in self._continued
        if held is None:
            why = f"No usable Thread state was found for {previous}"
            return HttpError(404, "not_found_error", why, code="thread_not_found")
        if is_continued:
            return _refusal(f"{previous} has already been continued", "thread_already_continued")
        for name in _KEPT:
            if name in request and request[name] != held.get(name):
                why = f"{name} differs from the value stored with the Thread"
                return _refusal(why, "thread_fingerprint_mismatch")
        messages = [*objects(held["messages"]), *objects(request.get("messages"))]
        kept: JsonObject = {name: held[name] for name in _KEPT if name in held}
        return {**request, **kept, "messages": [*messages]}

    def keep(self, whole: JsonObject, message_id: str, content: Sequence[JsonObject]) -> None:
        """Hold a thread's conversation up to an answer."""
        thread = whole.get("thread")
        if not isinstance(thread, dict):
            return
        said: JsonObject = {"role": "assistant", "content": [*content]}
        with self._lock:
            self._continued.add(text(thread.get("previous_message_id")))
            messages = [*objects(whole.get("messages")), said]
            self._held[message_id] = {**whole, "messages": [*messages]}

    def lose(self) -> None:
        """Forget all threads, as the service does when they have expired."""
        with self._lock:
            self._held.clear()


def _refusal(why: str, code: str) -> HttpError:
    return HttpError(400, "invalid_request_error", why, code=code)
