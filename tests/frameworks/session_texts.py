"""Texts that a session of each framework is given, for rules that are the same for each.

A framework has a module in `writers`, which is imported alone: a process that writes has to begin soon.
"""

from __future__ import annotations

import importlib
from typing import Final, Protocol

from onrecord.adapters.store import Store


class Texts(Protocol):
    """The texts of one session, written by an object that a program keeps."""

    async def write(self, text: str) -> None:
        """Write a text by one call of the framework, with a second item where a call may bring two."""
        ...

    async def held(self) -> list[str]:
        """Return the texts in order, each once; fail where one has not all that its call brought."""
        ...


FRAMEWORKS: Final = ("ag2", "agent_framework", "claude", "openai_agents", "pydantic_ai")


def texts_of(framework: str, store: Store) -> Texts:
    """Return the texts of a session of a framework in a store."""
    texts: Texts = importlib.import_module(f"tests.frameworks.writers.{framework}").SessionTexts(
        store
    )
    return texts


def first_of_pairs(items: list[str]) -> list[str]:
    """Return the first of each two items, where the second says the same and is marked."""
    assert items[1::2] == [f"{text}'" for text in items[::2]]
    return items[::2]
