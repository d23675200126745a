"""A conversation that threads share: nothing that one does disturbs another."""

import threading
from pathlib import Path
from typing import Any, cast

import anthropic
import pytest

from onrecord.adapters.recording import recorder
from onrecord.adapters.recording.plan import Outgoing
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain import jsontext
from onrecord.projections.apis.request import Request
from onrecord.projections.matching.template import RenderedRequest
from tests.adapters.recorded_calls import GREETING, HELLO, MODEL, Recorded, calling
from tests.adapters.recording.tabs import API, Tab
from tests.patience import PATIENCE, join

MESSAGES = cast("list[anthropic.types.MessageParam]", HELLO)


def test_a_request_is_rendered_while_another_is_looked_for(tmp_path: Path) -> None:
    tab = Tab(Memory(), tmp_path)
    tab.chat.user("Hello")
    tab.render()
    compared: list[bool] = []

    class Meddling(Request):
        """Whoever asks for its parts finds that another request was rendered meanwhile."""

        def body_parts(self) -> Any:
            compared.append(True)
            tab.render()
            return super().body_parts()

    request = tab.render()
    asked = tab.asked
    meddling = Meddling(dict(request), request.options, request.report)
    tab.recorder.remember(RenderedRequest(meddling, asked.version, asked.sources))
    body = jsontext.write({"messages": [{"role": "user", "content": "something else"}]})
    tab.recorder.begin(Outgoing(API, "/v1/messages", body, compacts=False))
    assert compared == [True]


def test_threads_that_record_clients_at_once_share_what_was_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Recorded(tmp_path)
    made: list[recorder.Recorder] = []
    everyone = threading.Barrier(6, timeout=PATIENCE)
    plain = recorder.Recorder

    def slow(*given: Any) -> recorder.Recorder:
        threading.Event().wait(0.05)  # So that all would get in, if they could.
        made.append(plain(*given))
        return made[-1]

    monkeypatch.setattr(recorder, "Recorder", slow)
    with calling(recorded, [GREETING] * 6) as calls:

        def record() -> None:
            everyone.wait()
            client = recorded.chat.record(calls.plain)
            client.messages.create(model=MODEL, max_tokens=9, messages=MESSAGES)

        threads = [threading.Thread(target=record) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            join(thread)
    assert len(made) == 1
