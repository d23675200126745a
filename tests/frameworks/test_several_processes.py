"""A session of each framework that several processes write to, and one whose writer is killed."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.processes import run_apart, run_until
from tests.frameworks.session_texts import FRAMEWORKS, texts_of

EACH_FRAMEWORK = pytest.mark.parametrize("framework", FRAMEWORKS)


def _write_many(framework: str, place: Place, folder: Path, name: str, count: int) -> None:
    async def write() -> None:
        texts = texts_of(framework, store)
        for number in range(count):
            await texts.write(f"{name} {number}")

    with store_of(place.open(), folder) as store:
        asyncio.run(write())


def _held(framework: str, place: Place, folder: Path) -> list[str]:
    with store_of(place.open(), folder) as store:
        return asyncio.run(texts_of(framework, store).held())


@EACH_FRAMEWORK
def test_two_processes_lose_nothing_and_double_nothing(
    framework: str, durable_place: Place, tmp_path: Path
) -> None:
    assert _held(framework, durable_place, tmp_path) == []
    # A turn of pydantic-ai is taken again where the other process was first.
    count = 20 if framework == "pydantic_ai" else 100
    write = partial(_write_many, framework, durable_place, tmp_path)
    run_apart(partial(write, "a", count), partial(write, "b", count))
    held = _held(framework, durable_place, tmp_path)
    for name in ("a", "b"):
        own = [text for text in held if text.startswith(f"{name} ")]
        assert own == [f"{name} {number}" for number in range(count)]
    assert len(held) == 2 * count


@EACH_FRAMEWORK
def test_writers_that_are_killed_leave_a_session_that_loads_and_goes_on(
    framework: str, durable_place: Place, tmp_path: Path
) -> None:
    held = _held(framework, durable_place, tmp_path)
    assert held == []
    for name in ("a", "b"):
        enough = len(held) + 10
        run_until(
            lambda enough=enough: len(_held(framework, durable_place, tmp_path)) >= enough,  # type: ignore[misc]
            partial(_write_many, framework, durable_place, tmp_path, name, 100_000),
        )
        before, held = held, _held(framework, durable_place, tmp_path)
        assert held == [*before, *(f"{name} {number}" for number in range(len(held) - len(before)))]
    _write_many(framework, durable_place, tmp_path, "c", 1)
    assert _held(framework, durable_place, tmp_path) == [*held, "c 0"]
