"""The APIs whose wire is recorded, by name: all that there are.

What is none of the six is asked of packages, and one of these that cannot be used is an error then:
it may be what the request is for. Requests to the six are read whatever is installed beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache, partialmethod
from typing import Any, Final, NamedTuple, TypeAlias, cast, get_args
from urllib.parse import unquote

from onrecord.adapters.wire.api import BatchWire, Endpoint, Kind, Wire
from onrecord.domain.errors import InvalidProvider, NotRecorded
from onrecord.projections.api import (
    FOLDERS,
    imported,
    loaded_api,
    must_be_told_apart,
    names,
)
from onrecord.projections.apis.parts import (
    BOOL,
    CALLABLE,
    TEXT,
    fault_in_part,
    mapping_of,
    must_be,
    optional,
    part_of,
    tuple_of,
)


class _Wires(Mapping[str, Wire]):
    """The wire of each API that has one, imported when it is first asked for."""

    def __getitem__(self, api: str) -> Wire:
        place = _place(api)
        if not place:
            raise KeyError(api)
        return _wire(api, place)

    def __iter__(self) -> Iterator[str]:
        for api in names():
            with suppress(InvalidProvider):
                if (place := _place(api)) and _wire(api, place):
                    yield api

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _wire(api: str, place: str) -> Wire:
    return imported(api, place, Wire, _fault_in_wire)


def _fault_in_wire(wire: Wire) -> str:
    return fault_in_part(wire, _WIRE)


# What the wire of a package must be: it is looked at when it is imported.


def _are_texts(value: Any) -> bool:
    return isinstance(value, frozenset) and all(
        isinstance(item, str) for item in cast("frozenset[Any]", value)
    )


_ENDPOINT: Final = part_of(
    Endpoint,
    {
        **dict.fromkeys(("method", "path"), TEXT),
        "kind": must_be(f"one of {', '.join(get_args(Kind))}", get_args(Kind).__contains__),
        "compacts": BOOL,
    },
)
_WIRE: Final = part_of(
    Wire,
    {
        "api": TEXT,
        "streams": mapping_of(CALLABLE),
        **dict.fromkeys(("read_body", "event_of", "read_request", "request_events"), CALLABLE),
        "endpoints": tuple_of(_ENDPOINT),
        "content_paths": must_be("frozenset of str", _are_texts),
        "tools_path": optional(TEXT),
        "held_by_provider": mapping_of(TEXT),
        "headers": tuple_of(TEXT),
        "family": CALLABLE,
        "batches": optional(part_of(BatchWire, {})),
        "is_respelled": BOOL,
        "answer_members": optional(must_be("frozenset of str", _are_texts)),
        "answers_among": CALLABLE,
        "sdk_arguments": mapping_of(TEXT),
        "model_prefix": TEXT,
    },
)


def _place(api: str) -> str:
    """Return where the wire of an API is; empty where it has none."""
    if api in FOLDERS:
        return f"onrecord.adapters.wire.{FOLDERS[api]}.wire:WIRE"
    package_api = loaded_api(api)
    return package_api.wire if package_api else ""


WIRES: Final[Mapping[str, Wire]] = _Wires()


def wire_of(api: str) -> Wire | None:
    """Return the wire of an API; None where it has none, or none that can be used."""
    try:
        return WIRES.get(api)
    except InvalidProvider:
        return None


# Which of an API's endpoints are turns of a conversation, and which are none.


class Purpose(NamedTuple):
    """What a request is for, and in which wire format; what is none of ours names none."""

    api: str
    kind: Kind
    compacts: bool = False


_NONE: Final = Purpose("", "none")
_Endpoints: TypeAlias = tuple[tuple[str, Endpoint, list[str]], ...]


def endpoint_of(method: str, path: str) -> Purpose:
    """Return what a request is for, by its method and the path of its URL, as it is on the wire.

    Gateways put a prefix before the paths that SDKs ask for, and so does Azure: /openai/v1, or
    /openai/deployments/NAME (openai 3.52.0, lib/azure.py). What no API names (count_tokens,
    /responses/*/cancel, embeddings, models, images, audio, moderations) passes through.
    """
    segments = segments_of(path)
    for endpoints in (_endpoints_built_in, _endpoints_added):
        for api, endpoint, end in endpoints():
            if method == endpoint.method and ends_with(segments, end):
                return Purpose(api, endpoint.kind, endpoint.compacts)
    return _NONE


@cache
def _endpoints_built_in() -> _Endpoints:
    return _endpoints(FOLDERS)


@cache
def _endpoints_added() -> _Endpoints:
    must_be_told_apart()
    return _endpoints(api for api in names() if api not in FOLDERS)


def _endpoints(apis: Iterable[str]) -> _Endpoints:
    """Return the endpoints of APIs, each with the segments of its path."""
    return tuple(
        (api, endpoint, endpoint.path.split("/"))
        for api in apis
        if _place(api)
        for endpoint in WIRES[api].endpoints
    )


def segments_of(path: str) -> list[str]:
    """Return the segments of a path of a URL, unquoted."""
    return [unquote(segment) for segment in path.strip("/").split("/")]


def ends_with(segments: Sequence[str], end: Sequence[str]) -> bool:
    """Whether a path ends so; in `end`, `*` is any text within one segment."""
    tail = segments[-len(end) :]
    return len(tail) == len(end) and all(map(fnmatchcase, tail, end))


# The error that refuses a call, in the family of the SDK that makes it.
#
# An SDK tries again, or wraps, what is not its own (anthropic 2.11, openai 3.52:
# `_base_client.py`, `request`).

_REFUSALS: Final[dict[str, type[NotRecorded]]] = {}
_UNANSWERED: Final = ("code", "details", "response", "status", "status_code")
"""What SDKs ask of their errors, to tell which to try again: it is of an answer, and here is none."""


def refusal_of(api: str) -> type[NotRecorded]:
    """Return the error for a call of an API; NotRecorded itself where its SDK is not in use."""
    family = WIRES[api].family()
    if family is None:
        return NotRecorded
    if api not in _REFUSALS:
        members: dict[str, Any] = {
            "__doc__": NotRecorded.__doc__,
            "__module__": "onrecord",
            # Those of a family may want what only an answer tells.
            "__init__": _say,
            "__str__": Exception.__str__,
            # No module has this class, and another process may not have the SDK.
            "__reduce__": partialmethod(_again, api),
            **dict.fromkeys(_UNANSWERED),
        }
        # In a traceback, the name by which it can be caught.
        _REFUSALS[api] = type(NotRecorded.__name__, (NotRecorded, family), members)
    return _REFUSALS[api]


def _again(error: Exception, api: str) -> tuple[object, ...]:
    return _refused, (api, str(error)), vars(error)


def _refused(api: str, message: str) -> NotRecorded:
    return refusal_of(api)(message)


def _say(error: Exception, message: str) -> None:
    Exception.__init__(error, message)
    vars(error).update(message=message, error=message)
