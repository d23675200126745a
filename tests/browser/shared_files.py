"""The HTML file that the page makes of a conversation to share."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.service.served import Served


def shared_file(answering: Served, conversation: str, folder: Path) -> Path:
    """Return the file of a conversation, at the path of its page, with nothing hidden in it."""
    headers = {
        "content-type": "application/x-www-form-urlencoded",
        "sec-fetch-site": "same-origin",
    }
    answer = answering.ask("POST", f"{conversation}/share", body=b"first=1", headers=headers)
    assert answer.status == 200
    file = folder / "shared.html"
    file.write_bytes(answer.data)
    return file
