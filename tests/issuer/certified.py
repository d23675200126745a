"""An issuer that is certified, oidc-provider, as a program of its own, and a browser that signs in there."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, Final
from urllib.parse import urljoin

import httpx

from tests.node_programs import NODE
from tests.patience import PATIENCE

PROGRAM: Final = "issuer.js"


@dataclass(frozen=True)
class CertifiedIssuer:
    """Where it answers, and the program that takes commands."""

    url: str
    program: Popen[str]

    def send(self, command: str, **values: Any) -> None:
        """Have it do what a command says."""
        assert self.program.stdin is not None
        self.program.stdin.write(json.dumps({"command": command, **values}) + "\n")
        self.program.stdin.flush()
        answer = _message(self.program)
        assert answer == {}, answer


@contextmanager
def certified_issuer(folder: Path) -> Generator[CertifiedIssuer]:
    """Run the issuer that is installed in a folder."""
    command = [str(NODE), PROGRAM]
    with Popen(command, cwd=folder, stdin=PIPE, stdout=PIPE, text=True) as program:
        yield CertifiedIssuer(_message(program)["issuer"], program)
        assert program.stdin is not None
        program.stdin.close()
        assert program.wait(PATIENCE) == 0


def _message(program: Popen[str]) -> dict[str, Any]:
    assert program.stdout is not None
    message: dict[str, Any] = json.loads(program.stdout.readline())
    return message


class Browser:
    """Follows redirects, keeps cookies, and fills in the forms of the issuer."""

    def __init__(self, page: str) -> None:
        """Have no cookie yet; `page` is where the page is."""
        self._page = page
        self._client = httpx.Client(follow_redirects=True, timeout=PATIENCE, trust_env=False)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def get(self, place: str) -> httpx.Response:
        """Look at a path of the page, or an URL."""
        return self._client.get(urljoin(self._page, place))

    def is_signed_in(self) -> bool:
        """Return whether the page shows conversations, and does not ask to sign in."""
        return self.get("/").url.path == "/"

    def sign_in(self, account: str, place: str = "/") -> httpx.Response:
        """Sign in by the issuer; what is shown in the end."""
        shown = self.get(f"/sign-in/issuer?next={place}")
        while not str(shown.url).startswith(self._page):
            shown = self.send_form(shown, login=account, password="swordfish")
        return shown

    def start_login(self, account: str) -> str:
        """Log in at the issuer, and return where it sends the browser back to: nobody goes there yet."""
        shown = self.get("/sign-in/issuer")
        self._client.follow_redirects = False
        back = f"{self._page}/sign-in/callback"
        while not (place := shown.headers.get("location", "")).startswith(back):
            shown = (
                self.get(urljoin(str(shown.url), place))
                if place
                else self.send_form(shown, login=account, password="swordfish")
            )
        self._client.follow_redirects = True
        return str(place)

    def sign_out(self) -> httpx.Response:
        """Press the button of the page."""
        headers = {"sec-fetch-site": "same-origin"}
        return self._client.post(f"{self._page}/sign-out", headers=headers)

    def send_form(self, shown: httpx.Response, **fields: str) -> httpx.Response:
        """Send the form that the issuer shows, with these fields beside those that are filled in."""
        form = re.search(r'<form[^>]* action="([^"]*)"', shown.text)
        assert form is not None, (str(shown.url), shown.text)
        inputs = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', shown.text)
        hidden = {name: unescape(value) for name, value in inputs}
        return self._client.post(
            urljoin(str(shown.url), unescape(form[1])), data={**hidden, **fields}
        )
