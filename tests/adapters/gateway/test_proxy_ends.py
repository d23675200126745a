"""A server that ends, or is killed, amid a proxied call: what is durable stays, and the next one goes on."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

import onrecord
from tests.adapters.cli.command import PROGRAM
from tests.adapters.proxy.proxied import PROVIDER_KEY
from tests.adapters.proxy.raw_provider import STREAM, RawProvider, chunk, raw_provider
from tests.patience import PATIENCE

BODY = {
    "model": "m",
    "max_tokens": 9,
    "stream": True,
    "messages": [{"role": "user", "content": "Hello"}],
}
HEADERS = {
    "x-api-key": PROVIDER_KEY,
    "anthropic-version": "2023-06-01",
    "x-onrecord-conversation": "support/4711",
}
FIRST = b"""event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m",\
"content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Good"}}

"""
LAST = b"""event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" day."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

"""
ANSWER = (STREAM + chunk(FIRST), chunk(LAST) + chunk(b""))


@dataclass(frozen=True)
class Process:
    """`onrecord serve` as a process of its own."""

    url: str
    process: subprocess.Popen[str]


@contextmanager
def serving(folder: Path, provider: RawProvider) -> Generator[Process]:
    command = (*PROGRAM, "--url", f"sqlite:///{folder / 'log.db'}", "serve", "--port", "0")
    with subprocess.Popen(
        (*command, "--upstream", f"anthropic={provider.url}"), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            place = re.search(r"http://\S+", process.stderr.readline())
            assert place is not None
            yield Process(f"{place[0]}/proxy/local/anthropic/v1/messages", process)
        finally:
            process.kill()


def said(folder: Path) -> list[str]:
    with onrecord.connect(f"sqlite:///{folder / 'log.db'}") as store:
        return [turn.text for turn in store.get("support/4711").history()]


def test_a_server_that_is_told_to_end_hands_on_and_records_the_answers_under_way(
    tmp_path: Path,
) -> None:
    with raw_provider(ANSWER) as provider, serving(tmp_path, provider) as server:
        with httpx2.stream(
            "POST", server.url, headers=HEADERS, json=BODY, timeout=PATIENCE
        ) as answer:
            pieces = answer.iter_raw()
            came = next(pieces)
            server.process.send_signal(signal.SIGTERM)
            provider.go_on.set()
            came += b"".join(pieces)
        assert came == FIRST + LAST
        assert server.process.wait(PATIENCE) == 0
    assert said(tmp_path) == ["Hello", "Good day."]


def test_a_server_that_is_killed_has_the_prompt_and_the_next_one_goes_on(tmp_path: Path) -> None:
    with raw_provider(ANSWER, ANSWER) as provider:
        with serving(tmp_path, provider) as server:
            with httpx2.stream(
                "POST", server.url, headers=HEADERS, json=BODY, timeout=PATIENCE
            ) as answer:
                pieces = answer.iter_raw()
                assert next(pieces)
                server.process.kill()
                with pytest.raises(httpx2.RemoteProtocolError):
                    list(pieces)
            server.process.wait(PATIENCE)
        assert said(tmp_path) == ["Hello"]
        provider.go_on.set()
        with serving(tmp_path, provider) as server:
            again = httpx2.post(server.url, headers=HEADERS, json=BODY, timeout=PATIENCE)
            assert again.content == FIRST + LAST
    assert said(tmp_path) == ["Hello", "Good day."]
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}") as store:
        assert store.verify().is_whole
