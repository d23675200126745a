"""The models that a process engine has deployed, by the keys that it gave them."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final

from onrecord.adapters.bpmn.from_ai import NAMESPACE
from onrecord.adapters.bpmn.model import bytes_of
from onrecord.adapters.bpmn.process_tools import Flavour, ResolvedTools, tools_of
from onrecord.adapters.inputs.arguments import kind_of
from onrecord.domain.errors import InvalidInput

_MOST: Final = 64
"""How many models are kept; the one that was asked for first goes first."""


class DeployedModels:
    """Models by their process definition keys; safe to share between threads.

    `fetch` asks the engine for the XML of a key: the only way to it, and its errors are raised as they
    are. What a key stands for never changes in an engine, so each is asked for once.
    """

    def __init__(self, fetch: Callable[[int], bytes]) -> None:
        """Ask by `fetch`, which takes a key and returns the bytes of the file."""
        self._fetch = fetch
        self._models: dict[int, bytes] = {}
        self._lock = Lock()

    def model(self, key: int) -> bytes:
        """Return the file of a process definition key; InvalidInput, as engines say it, for none."""
        number = _key(key)
        with self._lock:
            if number not in self._models:
                model = bytes_of(self._fetch(number))
                if len(self._models) >= _MOST:
                    del self._models[next(iter(self._models))]
                self._models[number] = model
            return self._models[number]

    def tools_of(
        self,
        key: int,
        sub_process_id: str | None = None,
        *,
        flavour: Flavour = "process",
        gateways: bool = True,
        namespace: str = NAMESPACE,
    ) -> ResolvedTools:
        """Return the tools of an ad-hoc sub-process of the model of a key, as `tools_of` does."""
        return tools_of(
            self.model(key),
            sub_process_id,
            flavour=flavour,
            gateways=gateways,
            namespace=namespace,
        )


def _key(value: object) -> int:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value <= 0):
        raise InvalidInput("Process definition key must not be null or negative")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InvalidInput(f"a process definition key is a number, not {kind_of(value)}")
