"""The pages of the gateway, run by an environment that holds only the wheel with its extras `serve` and `http`.

The commands are those of docs/service.md and docs/proxy.md. They are sent by the standard library, for a clean
machine may have no curl.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMAND = Path(sys.executable).with_name("onrecord")
ORIGIN = "http://127.0.0.1:4180"
SAID = "Good day."
PATIENCE = 120
"""In seconds: what takes longer has failed."""

ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [{"type": "text", "text": SAID}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 4},
}


class Provider(BaseHTTPRequestHandler):
    """It says the same to everybody who has a key."""

    def do_POST(self) -> None:
        """Answer, or refuse who sent no key of the provider."""
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(ANSWER).encode()
        self.send_response(200 if self.headers["X-Api-Key"] == "sk-own" else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads its log."""


@contextmanager
def provider() -> Generator[str]:
    """The origin of a provider of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def serving(folder: Path, *options: str) -> Generator[str]:
    """The origin of `onrecord serve`, at a port that is free; it has to end well."""
    command = (str(COMMAND), "serve", "--port", "0", *options)
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        place = re.search(r"http://\S+:\d+", line)
        assert place, line + server.stderr.read()
        try:
            yield place[0]
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)
    assert server.returncode == 0, server.returncode


def environment(**more: str) -> dict[str, str]:
    """The caller's, without any setting of Onrecord."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("ONRECORD_")}
    return {**plain, **more}


def sent(command: str) -> bytes:
    """What a server answers to what a curl command of a page sends."""
    headers: dict[str, str] = {}
    body, url = None, ""
    words = iter(shlex.split(command.replace("\\\n", " ")))
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value.replace("$ANTHROPIC_API_KEY", "sk-own")
        elif word == "-d":
            body = next(words).encode()
        elif word.startswith("http"):
            url = word
    with urllib.request.urlopen(
        urllib.request.Request(url, body, headers), timeout=PATIENCE
    ) as answer:
        found: bytes = answer.read()
    return found


def command_of(page: Path) -> str:
    """The first curl command of a page."""
    found = re.search(
        r"^(?:\$ )?(curl .*?[^\\])$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found and ORIGIN in found[1], page
    return found[1]


def shown(url: str, key: str) -> str:
    """What `onrecord show` writes of a conversation, over HTTP."""
    return subprocess.run(
        (str(COMMAND), "show", key),
        env=environment(ONRECORD_URL=url),
        check=True,
        stdout=-1,
        text=True,
    ).stdout


def main(docs: Path) -> None:
    """Fail where a page does not work as it is written."""
    with tempfile.TemporaryDirectory() as name, provider() as upstream:
        folder = Path(name)
        with serving(folder, "--upstream", f"anthropic={upstream}") as origin:
            first = sent(command_of(docs / "service.md").replace(ORIGIN, origin))
            assert json.loads(first) == {"first": 1, "last": 2, "is_new": True}, first
            assert "Where is NW-20931?" in shown(origin, "support/4711")
            answer = sent(command_of(docs / "proxy.md").replace(ORIGIN, origin))
            assert json.loads(answer) == ANSWER, answer
            with urllib.request.urlopen(f"{origin}/v1/conversations", timeout=PATIENCE) as page:
                listed = json.load(page)["entries"]
            keys = [entry["key"] for entry in listed]
            (unbound,) = (key for key in keys if key.startswith("unbound/"))
            assert SAID in shown(origin, unbound)
        assert (folder / "onrecord.db").exists()
        assert b"sk-own" not in b"".join(
            path.read_bytes() for path in folder.rglob("*") if path.is_file()
        )
    print("The pages of the gateway work.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
