"""A body that was damaged in the store is an error of ours, whatever it holds instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import pytest

import onrecord
from onrecord.domain.content import ToolCall
from onrecord.domain.events import ToolCallRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import FOLDERS
from tests.sqlite_by_hand import ByHand, Unruled

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
OTHERS: list[Any] = [None, 5, "text", [], {}, [1.5], {"a": 1}]


def recorded(path: Path) -> None:
    with onrecord.connect(f"sqlite:///{path}") as store:
        chat = store.conversation("damaged")
        chat.instruct("Be brief.")
        chat.user("Look:", PNG, " ", "And?")
        call = ToolCall(id="c1", name="look", arguments={"at": [1]})
        chat.log.append(ToolCallRecorded(call_id="c1", name="look", content=call))
        chat.tool_result("c1", {"found": 1})
        chat.user("Go on.")


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items: list[tuple[str | int, Any]] = (
        [*cast("JsonObject", value).items()]
        if isinstance(value, dict)
        else [*enumerate(cast("list[Any]", value))]
    )
    for name, item in items:
        yield (*path, name)
        if isinstance(item, dict | list):
            yield from places(item, (*path, name))


def bodies(hand: ByHand) -> list[tuple[int, Any]]:
    rows = hand.run("SELECT rowid, body FROM event WHERE body IS NOT NULL ORDER BY version")
    return [(row, json.loads(bytes(body))) for row, body in rows[1:]]


def damage(hand: ByHand, row: int, body: Any) -> None:
    written = json.dumps(body, separators=(",", ":")).encode()
    hand.run("UPDATE event SET body = ? WHERE rowid = ?", written, row)


def with_other(body: Any, place: tuple[str | int, ...], other: Any) -> Any:
    changed = json.loads(json.dumps(body))
    within = changed
    for step in place[:-1]:
        within = within[step]
    within[place[-1]] = other
    return changed


@pytest.mark.parametrize("other", OTHERS, ids=map(repr, OTHERS))
def test_any_member_may_be_of_another_type(tmp_path: Path, other: Any) -> None:
    path = tmp_path / "damaged.db"
    recorded(path)
    with onrecord.connect(f"sqlite:///{path}") as store, closing(Unruled.open(path)) as hand:
        chat = store.conversation("damaged")
        for row, body in bodies(hand):
            for place in places(body):
                damage(hand, row, with_other(body, place, other))
                for api in FOLDERS:
                    with suppress(onrecord.OnrecordError):
                        chat.request(api)
            damage(hand, row, body)


def test_a_damaged_text_is_told_by_no_more_than_its_place(tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    recorded(path)
    with onrecord.connect(f"sqlite:///{path}") as store, closing(Unruled.open(path)) as hand:
        row, body = next(each for each in bodies(hand) if "Look:" in str(each))
        damage(hand, row, with_other(body, ("content", 0, "text"), 5))
        with pytest.raises(onrecord.CorruptRecord, match="verify") as caught:
            store.conversation("damaged").request("openai-chat")
    assert "And?" not in str(caught.value)
