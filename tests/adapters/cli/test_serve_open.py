"""`onrecord serve --open` opens the page where somebody sits at a terminal, and says where it is anyway."""

from __future__ import annotations

import logging.config
import sys
import webbrowser
from collections.abc import Callable
from queue import Queue
from typing import Any

import pytest

from onrecord.adapters.gateway import gateway
from onrecord.adapters.gateway.server import Address
from tests.adapters.cli.command import in_process
from tests.patience import PATIENCE

URL = "http://127.0.0.1:4180"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Queue[str]:
    """What a browser is told to open, by a server that starts and ends at once."""

    def start_and_end(*_: Any, started: Callable[[Address], None], **__: Any) -> None:
        started(Address("127.0.0.1", 4180))

    def log_as_before(_: object) -> None:
        """The tests keep their own settings of logs."""

    opened = Queue[str]()
    monkeypatch.setattr(gateway, "serve_store", start_and_end)
    monkeypatch.setattr(logging.config, "dictConfig", log_as_before)
    monkeypatch.setattr(webbrowser, "open", opened.put)
    return opened


def test_at_a_terminal_the_page_is_opened(
    opened: Queue[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = in_process(monkeypatch, capsys)("--url", "memory://", "serve", "--open")
    assert opened.get(timeout=PATIENCE) == URL
    assert URL in done.err


@pytest.mark.parametrize("options", [(), ("--open",)])
def test_without_a_terminal_or_the_option_nothing_is_opened(
    opened: Queue[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: not options)
    done = in_process(monkeypatch, capsys)("--url", "memory://", "serve", *options)
    assert opened.empty()
    assert URL in done.err
