"""The APIs whose wire is recorded, by name: all that there are."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Final, NamedTuple, cast
from urllib.parse import unquote

from onrecord.adapters.wire.api import Kind, Wire
from onrecord.projections.api import FOLDERS


def _wire(folder: str) -> Wire:
    return cast("Wire", import_module(f"onrecord.adapters.wire.{folder}.wire").WIRE)


WIRES: Final[dict[str, Wire]] = {name: _wire(folder) for name, folder in FOLDERS.items()}


# Which of an API's endpoints are turns of a conversation, and which are none.


class Asked(NamedTuple):
    """What a request is for, and in which wire format; what is none of ours names none."""

    api: str
    kind: Kind
    compacts: bool = False


_NONE: Final = Asked("", "none")


def endpoint_of(method: str, path: str) -> Asked:
    """Return what a request is for, by its method and the path of its URL, as it is on the wire.

    Gateways put a prefix before the paths that SDKs ask for, and so does Azure: /openai/v1, or
    /openai/deployments/NAME (openai 3.52.0, lib/azure.py). What no API names (count_tokens,
    /responses/*/cancel, embeddings, models, images, audio, moderations) passes through.
    """
    segments = [unquote(segment) for segment in path.strip("/").split("/")]
    for api, wire in WIRES.items():
        for endpoint in wire.endpoints:
            if method == endpoint.method and _matches(segments, endpoint.path.split("/")):
                return Asked(api, endpoint.kind, endpoint.compacts)
    return _NONE


def _matches(segments: Sequence[str], end: Sequence[str]) -> bool:
    tail = segments[-len(end) :]
    return len(tail) == len(end) and all(map(fnmatchcase, tail, end))
