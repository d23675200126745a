"""`onrecord serve` as a process: it says where it answers, and ends well when it is told to."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

import onrecord
from onrecord.adapters.app import connect_tenants
from onrecord.adapters.gateway.gateway import serve_store
from onrecord.adapters.gateway.server import Address
from onrecord.domain.errors import InvalidInput, StorageUnavailable
from tests.adapters.cli.command import PROGRAM
from tests.patience import PATIENCE, kill


@contextmanager
def program(url: str) -> Generator[subprocess.Popen[str]]:
    """The server as a process on a store; it is gone in the end, whatever became of the test."""
    command = (*PROGRAM, "--url", url, "serve", "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            kill(process)


@pytest.mark.parametrize("told_by", [signal.SIGINT, signal.SIGTERM])
def test_what_was_said_is_kept_when_the_server_is_told_to_end(
    tmp_path: Path, told_by: signal.Signals
) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with program(url) as process:
        assert process.stderr is not None
        place = re.search(r"http://\S+", process.stderr.readline())
        assert place is not None
        path = f"{place[0]}/v1/conversations/a/prompts"
        said = urllib3.request("POST", path, json={"text": "Hallo"}, timeout=PATIENCE)
        assert said.status == 201
        process.send_signal(told_by)
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""
    with onrecord.connect(url) as store:
        assert [turn.text for turn in store.get("a").history()] == ["Hallo"]


def test_a_reader_that_takes_nothing_does_not_hold_up_the_end(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with program(url) as process:
        assert process.stderr is not None
        place = re.search(r"http://(\S+):(\d+)", process.stderr.readline())
        assert place is not None
        for number in range(20):
            path = f"{place[0]}/v1/conversations/a/prompts"
            text = f"{number} {'x' * (1 << 20)}"
            said = urllib3.request("POST", path, json={"text": text}, timeout=PATIENCE)
            assert said.status == 201
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.settimeout(PATIENCE)
            reader.connect((place[1], int(place[2])))
            reader.sendall(b"GET /v1/tail?after=start HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert reader.recv(12) == b"HTTP/1.1 200"
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        # The server tells of those that it had to give up in the end.
        assert process.stderr.read() == ""


def test_a_store_that_could_not_be_served_is_closed(tmp_path: Path) -> None:
    store, open_store = connect_tenants(f"sqlite:///{tmp_path / 'log.db'}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address(*taken.getsockname())
        with pytest.raises(InvalidInput, match=f"127.0.0.1:{address.port}"):
            serve_store(store, open_store, address, started=lambda _: None)
    with pytest.raises(StorageUnavailable, match="closed"):
        store.conversation("a").head()


def test_an_address_that_is_taken_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        url = f"sqlite:///{tmp_path / 'log.db'}"
        command = (*PROGRAM, "--url", url, "serve", "--port", port)
        ended = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
    assert ended.returncode == 1
    assert re.search(rf"127\.0\.0\.1:{port}", ended.stderr)
    assert len(ended.stderr.splitlines()) == 1
