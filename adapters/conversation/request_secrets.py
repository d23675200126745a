"""The secrets of a request: the record has none, so the caller gives them each time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from onrecord.adapters.wire.secrets import PLACEHOLDER, Digest, cut, stand_ins, why_uncut
from onrecord.adapters.wire.wires import wire_of
from onrecord.domain.errors import InvalidInput, MalformedJson, SecretMissing
from onrecord.domain.jsontext import JsonObject, pointer_step, read_bounded, write
from onrecord.projections.api import FOLDERS, known_api
from onrecord.projections.apis.request import Request, report_of
from onrecord.projections.history.history import Note

_HALF: Final = re.compile("[\ud800-\udfff]")

_CUT: Final = "{} is cut: a digest stands in its place; give it with secrets="


def with_secrets(request: Request, secrets: object, digest: Digest) -> Request:
    """Return a request with the members that the caller gives where secrets were cut.

    SecretMissing where one is not given; InvalidInput where one would be recorded in clear, or is
    the one that was recorded at another place. One that stays as it was recorded is noted.
    """
    if not isinstance(secrets, Mapping | None):
        raise InvalidInput(
            "secrets are a mapping of JSON pointers to the members that are to be sent"
        )
    if not _may_hold_mark(request):
        return request
    wire, body = wire_of(request.api), dict(request.body)
    marks = {} if wire is None else stand_ins(body, wire)
    if wire is None or not marks:
        return request
    offered = cast("Mapping[str, object]", secrets or {})
    members = {place: offered[place] for place in marks if place in offered}
    if len(members) < len(marks):
        raise SecretMissing({place: marks[place] for place in marks if place not in members})
    filled = _filled(body, "", members)
    new = [place for place, member in members.items() if member != marks[place]]
    for place in new:
        _must_be_sendable(place, members[place])
        alone = _filled(body, "", {place: members[place]})
        if why := why_uncut(body, alone, place, members[place], wire):
            raise InvalidInput(f"what is given for {place} would be recorded in clear: {why}")
        # Tools that a later call declared may stand in another order.
        mark = stand_ins(cut(alone, wire, digest)[0], wire).get(place)
        if mark != marks[place] and mark in marks.values():
            other = next(at for at in marks if marks[at] == mark)
            raise InvalidInput(f"what is given for {place} is what was cut at {other}")
    notes = [Note("noted", "secret", None, _CUT.format(at)) for at in marks if at not in new]
    report = report_of((*request.report, *notes), request.report.routes)
    if request.is_body:
        return Request(filled, request.options, report)
    return Request(_as_filled({**request}, body, filled), request.options, report, filled)


def _must_be_sendable(place: str, member: object) -> None:
    """Raise InvalidInput where a text, or a list or an object, is none that JSON can hold."""
    if isinstance(member, str) and _HALF.search(member):
        raise InvalidInput(f"what is given for {place} has half of a surrogate pair")
    if not isinstance(member, int | list | dict):
        return
    try:
        read_bounded(write(cast("object", member)))
    except MalformedJson as exc:
        raise InvalidInput(f"what is given for {place}: {exc}") from None


def _may_hold_mark(request: Request) -> bool:
    """Whether anything but what was said may be a mark: few requests need a wire to be looked at.

    Our wires hold what was said, and the definitions of tools in it, in these places alone.
    """
    if request.api not in FOLDERS:
        return PLACEHOLDER in str(dict(request.body))
    said = known_api(request.api).messages
    others = [value for name, value in request.body.items() if name != said]
    # A message may hold the definitions of tools that were found.
    others += [each["tools"] for each in request.body.get(said, ()) if "tools" in each]
    return PLACEHOLDER in str(others)


def _filled(value: Any, place: str, members: Mapping[str, object]) -> Any:
    """Return a value with what is given for its members, by their places."""
    if place in members:
        return members[place]
    match value:
        case dict():
            items = cast("JsonObject", value).items()
            return {
                name: _filled(item, f"{place}{pointer_step(name)}", members) for name, item in items
            }
        case list():
            elements = enumerate(cast("list[Any]", value))
            return [_filled(element, f"{place}/{at}", members) for at, element in elements]
        case _:
            return value


def _as_filled(argument: Any, body: Any, filled: Any) -> Any:
    """Return an argument with what was filled into the part of the body that it is made of.

    An SDK may want bytes for base64, a part of the body under another name, or to know nothing of a
    member. What the body has not is made of the body as a whole.
    """
    if argument == body:
        return filled
    match argument, body:
        case dict(), dict():
            whole, full = cast("JsonObject", body), cast("JsonObject", filled)
            return {
                name: _as_filled(item, whole.get(name, whole), full.get(name, full))
                for name, item in cast("JsonObject", argument).items()
            }
        case list(), list():
            items = cast("list[Any]", argument)
            bodies = zip(cast("list[Any]", body), cast("list[Any]", filled), strict=True)
            return list(_items_as_filled(items, [*bodies]))
        case _:
            return argument


def _items_as_filled(items: list[Any], bodies: list[tuple[Any, Any]]) -> Iterator[Any]:
    """Yield items of an argument, in order; one that nothing in the body matches stays as it is."""
    start = 0
    for item in items:
        places = range(start, len(bodies))
        place = next((place for place in places if _is_made_of(item, bodies[place][0])), None)
        if place is None:
            yield item
        else:
            yield _as_filled(item, *bodies[place])
            start = place + 1


def _is_made_of(argument: Any, body: Any) -> bool:
    """Whether an item of an argument is an item of the body, or what an SDK knows of one."""
    if not isinstance(argument, dict) or not isinstance(body, dict):
        return bool(argument == body)
    whole = cast("JsonObject", body)
    known = cast("JsonObject", argument).items()
    return all(name in whole and whole[name] == item for name, item in known)
