"""Counts as people read them: of one thing there is no plural."""

from uuid import UUID

import pytest

import onrecord
from onrecord.domain.errors import counted
from onrecord.domain.events import ResponseCompleted
from onrecord.projections.history import timeline_text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 events"), (1, "1 event"), (2, "2 events"), (1024, "1,024 events")]
)
def test_a_count_has_its_noun(count: int, text: str) -> None:
    assert counted(count, "event") == text


def test_a_request_says_how_many_notes_its_report_has() -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("support/4711")
        for prompt in ("Hello", "Hello?", "And now?"):
            chat.user(prompt)
        assert repr(chat.request("ollama", model="m")).endswith("; 0 notes>")
        request = chat.request("ollama", model="m", window=onrecord.Window(exchanges=1, step=1))
        assert repr(request).endswith("; 1 note>")


def test_a_response_of_one_token_says_so() -> None:
    response = ResponseCompleted(
        response=UUID(int=1), api="ollama", envelope={}, input_tokens=1, output_tokens=1
    )
    assert timeline_text.response(response) == "complete, ollama, 1 token in, 1 out"
