"""What crosses a recorded client's wire and is no turn: what a model was asked elsewhere.

It passes, and is said once a process. What tells no model anything (models, files, counts of
tokens) passes without a word. Paths: anthropic 2.11, openai 3.52, google-genai 3.4, ollama 0.6.3,
botocore 1.44.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from weakref import WeakSet

from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.streams import scopes
from onrecord.adapters.wire.clients import binding
from onrecord.adapters.wire.wires import ends_with, refusal_of, segments_of

_BATCHES: Final = "a batch"
_EMBEDDINGS: Final = "an embedding"
_TEXTS: Final = "a completion without messages"
_MEDIA: Final = "a picture, a film or sound"
_LIVE: Final = "a live session"
_AGENTS: Final = "a session of an agent that the provider runs"
_HELD: Final = "what is put into a conversation or a cache that the provider holds"
_OTHERS: Final = "a model in its own words on Bedrock"
_CHECKS: Final = "a moderation"

UNRECORDED: Final = (
    *((path, _BATCHES) for path in ("batches", "*:batchGenerateContent", "batchPredictionJobs")),
    ("async-invoke", _BATCHES),
    *((path, _EMBEDDINGS) for path in ("embeddings", "*:embedContent", "*:batchEmbedContents")),
    ("api/embed", _EMBEDDINGS),
    *((path, _TEXTS) for path in ("completions", "api/generate")),
    *((f"images/{kind}", _MEDIA) for kind in ("generations", "edits", "variations")),
    *((f"audio/{kind}", _MEDIA) for kind in ("speech", "transcriptions", "translations")),
    *((path, _MEDIA) for path in ("*:predict", "*:predictLongRunning", "videos")),
    *((f"realtime/{kind}", _LIVE) for kind in ("calls", "client_secrets", "sessions")),
    *((path, _LIVE) for path in ("live/sessions", "realtime/transcription_sessions")),
    *((path, _AGENTS) for path in ("interactions", "sessions", "sessions/*/events")),
    *((path, _AGENTS) for path in ("threads", "threads/*/messages", "threads/*/runs")),
    *((path, _AGENTS) for path in ("threads/runs", "evals/*/runs", "agents/*/invocations")),
    *((path, _HELD) for path in ("conversations/*/items", "cachedContents")),
    *((f"model/*/{call}", _OTHERS) for call in ("invoke", "invoke-with-response-stream")),
    ("model/*/invoke-with-bidirectional-stream", _OTHERS),
    ("moderations", _CHECKS),
)
"""The ends of paths that something is posted to, and what it is; `*` is any text in a segment."""

_saying: Final = threading.Lock()
_warned_of: Final[set[str]] = set()
_AGENT_SDK: Final = (
    "the Claude Agent SDK talks to the model from a process of its own, which is not recorded: "
    "import its transcript, or use a recorded client"
)

_UNKNOWN_RESULTS: Final = (
    "results are read of a batch that no recorded client made here: its answers are recorded, what "
    "they answer is not; create batches through a recorded client"
)

_UNKNOWN_FILE: Final = (
    "results of a batch are read from a file, and of which batch is not known: they are not "
    "recorded; ask for the batch first (`client.batches.retrieve`), through a recorded client"
)

_PASSING_UPLOAD: Final = (
    "a file is uploaded from what can be read but once: whether it has the requests of a batch is "
    "not known, and it is not recorded; give the file to `client.files.create`, or bytes"
)


def say(method: str, path: str) -> None:
    """Warn, once a process, where a request that is no turn asks a model something."""
    what = kind_of(method, path)
    if what is not None:
        _say_once(what, f"{what} is not recorded: it is no turn of a conversation ({path})")


def kind_of(method: str, path: str) -> str | None:
    """Return what a request is that asks a model something and is no turn; None for any other."""
    if method != "POST":
        return None
    segments = segments_of(path)
    return next((what for end, what in UNRECORDED if ends_with(segments, end.split("/"))), None)


def say_agent_process() -> None:
    """Warn, once a process, of a program of Claude's that is begun where calls are recorded."""
    _say_once("agent", _AGENT_SDK)


def say_unknown_batch() -> None:
    """Warn, once a process, of results of a batch whose requests nobody recorded."""
    _say_once("results", _UNKNOWN_RESULTS)


def say_unknown_file() -> None:
    """Warn, once a process, of a file of results of which no status told whose they are."""
    _say_once("file", _UNKNOWN_FILE)


def say_passing_upload() -> None:
    """Warn, once a process, of an upload that nobody can look at before it is sent."""
    _say_once("upload", _PASSING_UPLOAD)


def _say_once(key: str, text: str) -> None:
    with _saying:
        if key in _warned_of:
            return
        _warned_of.add(key)
    warnings.warn(text, RecordingWarning, stacklevel=3)


# Websockets bypass HTTP, and so the record: a client that opens one says so, once.

_QUERY: Final = "_websocket_query_params"
"""What openai 3.52 asks of a client for each websocket that it opens, realtime or responses."""

_REFUSED: Final = (
    "the websocket was not opened, for recording is required, and what goes over it is not "
    "recorded: call the API over HTTP instead"
)
_WARNING: Final = "_onrecord"
_installing: Final = threading.Lock()
_warned: Final[WeakSet[Any]] = WeakSet()
"""What sends for the clients whose users were told."""


def warn_of_all() -> None:
    """Have the clients of those SDKs warn that something imported by now."""
    if "openai" in sys.modules:
        warn_of_connections()
    if "google.genai" in sys.modules:
        warn_of_live()


def warn_of_connections() -> None:
    """Have OpenAI's clients warn when one that is recorded, or in a scope, opens a websocket."""
    from openai._base_client import BaseClient

    with _installing:
        query = getattr(BaseClient, _QUERY, None)
        if query is not None and not hasattr(query, "__wrapped__"):
            setattr(BaseClient, _QUERY, _warning(query, _is_recorded, "openai-responses"))


def warn_of_live() -> None:
    """Have google-genai's clients warn when one that is recorded, or in a scope, goes live."""
    from google.genai.live import AsyncLive

    from onrecord.adapters.wire.clients import genai as genai_client

    with _installing:
        if not hasattr(AsyncLive.connect, _WARNING):
            warning = _warning(AsyncLive.connect, genai_client.is_recorded, "gemini")
            setattr(warning, _WARNING, True)
            vars_of: Any = AsyncLive
            vars_of.connect = warning


def _is_recorded(client: Any) -> bool:
    from onrecord.adapters.wire.clients import record

    return record.is_wrapped(client._client)


def _warning(opening: Any, is_recorded: Callable[[Any], bool], api: str) -> Any:
    @wraps(opening)
    def opened(client: Any, *args: Any, **kwargs: Any) -> Any:
        if binding.required() == "raise":
            raise refusal_of(api)(_REFUSED)
        sends = _sends(client)
        is_meant = is_recorded(client) or scopes.current() is not None
        if sends not in _warned and (is_meant or binding.required() is not None):
            _warned.add(sends)
            warnings.warn(
                "what goes over a websocket is not recorded: call the API over HTTP instead",
                RecordingWarning,
                stacklevel=2,
            )
        return opening(client, *args, **kwargs)

    return opened


def _sends(client: Any) -> Any:
    """Return what a client sends through: its parts share it."""
    return client._api_client if hasattr(client, "_api_client") else client._client
