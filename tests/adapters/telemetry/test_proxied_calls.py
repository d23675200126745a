"""A call through the proxy is told once by the proxy, as a child of the span that the program names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import onrecord
from tests.adapters.openai_clients import MODEL
from tests.adapters.openai_server import OpenAIServer, Says
from tests.adapters.proxy.proxied import KEY, at, proxied
from tests.adapters.telemetry.observing import Observed, attributes, observing, parent_of

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
HEADERS = {"traceparent": PARENT, "X-Onrecord-Conversation": "support/4711"}


@pytest.fixture
def observed() -> Iterator[Observed]:
    with pytest.MonkeyPatch.context() as patch, observing(patch) as told:
        yield told


@pytest.mark.parametrize("streams", [False, True])
def test_a_proxied_call_is_told_by_the_proxy_and_its_key_is_not(
    observed: Observed, tmp_path: Path, streams: bool
) -> None:
    messages: Any = [{"role": "user", "content": "canary"}]
    with (
        onrecord.connect(f"sqlite:///{tmp_path}/log.db") as store,
        OpenAIServer([Says("canary")]) as server,
        proxied(store, at(server.origin, "openai")) as proxy,
        openai.OpenAI(api_key="sk-canary", base_url=proxy.base("openai", "/v1")) as client,
    ):
        create: Any = client.chat.completions.create
        answer = create(model=MODEL, messages=messages, stream=streams, extra_headers=HEADERS)
        if streams:
            list(answer)
    (span,) = observed.calls()
    told = attributes(span)
    assert told["gen_ai.conversation.id"] == "support/4711"
    assert told["gen_ai.provider.name"] == "openai"
    assert told.get("gen_ai.request.stream", False) is streams
    # What the proxy stores is part of the program's trace, too.
    assert {parent_of(each) for each in observed.spans()} == {int(PARENT.split("-")[2], 16)}
    assert server.received[0].headers["traceparent"] == PARENT
    everything = observed.everything()
    assert "canary" not in everything
    assert KEY not in everything
