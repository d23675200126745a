"""The kinds of sources that histories come from, by name, and the keys of what is in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from onrecord.adapters.histories.camunda import contexts_in
from onrecord.adapters.histories.database import sessions_in
from onrecord.adapters.histories.history import Histories, History
from onrecord.adapters.histories.json_files import histories_in
from onrecord.adapters.histories.llm import conversations_in
from onrecord.projections.api import names

SOURCES: Final[Mapping[str, Callable[[Path], Histories]]] = {
    **{api: partial(histories_in, api=api) for api in names()},
    "camunda-agent": contexts_in,
    "openai-agents-session": sessions_in,
    "simonw-llm": conversations_in,
}
"""Name of a kind of source to what reads a file of it; InvalidInput where it is none."""


def key_of(history: History, base: str, *, are_several: bool) -> str:
    """Return the key of a history: `base`, or its own name under that where there are several."""
    return f"{base}/{history.name}" if are_several else base
