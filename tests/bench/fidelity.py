"""How recorded responses go back: each as it came, or changed by a rule that the report names.

`python -m tests.bench.fidelity` plays all recordings beside the repository to the recorder, each to a
conversation of its own, and asks for the next request by the API that answered. It prints a table
of responses by API, and the responses that no rule explains; with these it exits with 1.
docs/rendering.md says what each rule does.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from onrecord.domain.jsontext import JsonObject
from onrecord.errors import OnrecordError
from onrecord.projections.apis.request import Request
from onrecord.projections.history.history import Note
from tests.adapters.recorded_calls import known
from tests.corpus.interactions import FOLDERS, calls
from tests.corpus.played import Played, play
from tests.corpus.wire import MISSING, below, is_there

EXACT: Final = "as it came"
ASIDE: Final = "on a side branch"
NOTHING: Final = "nothing to send"
UNEXPLAINED: Final = "no rule says why"
COMPACTED: Final = ("R18", "O10")
"""The rules by which a compaction stands for all before it: their note is on the compaction."""


OF_ALL: Final = ("C7",)
"""The rules whose one note, of no event, tells what was left out of all responses."""


class Returned(NamedTuple):
    """How one response goes back: in which API, from which file, and by which rules it changed."""

    api: str
    file: str
    ways: tuple[str, ...]


def main() -> int:
    """Print the table; return 1 if a response changed and no rule says why."""
    if not is_there():
        sys.exit(MISSING)
    totals: dict[str, Counter[str]] = {}
    unexplained: list[str] = []
    for response in returned():
        totals.setdefault(response.api, Counter())["responses"] += 1
        totals[response.api].update(response.ways)
        if UNEXPLAINED in response.ways:
            unexplained.append(f"{response.api}: {response.file}")
    for api, counts in sorted(totals.items()):
        others = ", ".join(f"{way} {count}" for way, count in sorted(_changed(counts).items()))
        print(f"{api:20} {counts['responses']:4} responses, {counts[EXACT]:4} {EXACT}; {others}")
    print(*sorted(unexplained), sep="\n")
    return 1 if unexplained else 0


def _changed(counts: Counter[str]) -> dict[str, int]:
    return {way: count for way, count in counts.items() if way not in ("responses", EXACT)}


def returned() -> Iterator[Returned]:
    """Yield each response of the recordings that lie beside the repository."""
    for name in below(*(f"{folder}/*/*.json" for folder in FOLDERS)):
        played_calls = [call for call in calls(name) if call.api and call.is_accepted]
        if not played_calls:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for api, ways in _of_file(play(calls(name), Path(folder))):
                yield Returned(api, name, ways)


def _of_file(played: Played) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each response of a file: its API, and how it goes back."""
    history = {event.version for event in played.history()}
    requests: dict[str, Request | None] = {}
    blocks: dict[object, list[tuple[int, list[JsonObject]]]] = {}
    for recorded in played.chat.events(after=0):
        event = known(recorded)
        response = getattr(event, "response", None)
        if isinstance(event, ResponseCompleted | ResponseInterrupted):
            if event.api not in requests:
                requests[event.api] = _request(played, event.api)
            parts = blocks.pop(response, [])
            if recorded.version not in history:
                yield event.api, (ASIDE,)
            elif parts:
                versions = {version for version, _ in parts} | {recorded.version}
                yield event.api, _ways(parts, versions, requests[event.api])
        elif response is not None:
            blocks.setdefault(response, []).append((recorded.version, played.blocks(event)))


def _request(played: Played, api: str) -> Request | None:
    try:
        return played.chat.request(api)
    except OnrecordError:
        return None


def _ways(
    parts: list[tuple[int, list[JsonObject]]], versions: set[int], request: Request | None
) -> tuple[str, ...]:
    """Return how the blocks of a response go: as they came, or by the rules of the report."""
    if request is None:
        return (NOTHING,)
    body = json.dumps(dict(request.body)).encode()
    going = [_spelled(piece.block) for piece in WIRES[request.api].read_request(body).pieces]
    at = 0
    for block in (block for _, held in parts for block in held):
        place = next((at for at in range(at, len(going)) if going[at] == _spelled(block)), None)
        if place is None:
            return _rules(versions, request) or (UNEXPLAINED,)
        at = place + 1
    return (EXACT,)


def _rules(versions: set[int], request: Request) -> tuple[str, ...]:
    notes = [note for note in request.report if note.deed != "noted"]
    own = {note.rule for note in notes if note.version in versions}
    general = {note.rule for note in notes if note.rule in OF_ALL and note.version is None}
    before = {note.rule for note in notes if note.rule in COMPACTED and _is_behind(note, versions)}
    return tuple(sorted(own | general | before))


def _is_behind(note: Note, versions: set[int]) -> bool:
    return note.version is not None and note.version > max(versions)


def _spelled(block: JsonObject) -> str:
    return json.dumps(block, sort_keys=True)


if __name__ == "__main__":
    sys.exit(main())
