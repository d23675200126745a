"""A rule that changes bytes holds for what is sent first under it; all else goes as it went."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

import onrecord
from onrecord.adapters.conversation import rendering
from onrecord.adapters.conversation.rendering import replays
from onrecord.domain import jsontext, request_template
from onrecord.domain.events import ConversationStarted
from onrecord.domain.request_template import Recipe
from onrecord.projections.apis import request as requests
from onrecord.projections.apis.request import Options, Request, options_of
from onrecord.projections.history.history import Block, History
from tests import anthropic_wire as anthropic
from tests import bedrock_wire as bedrock
from tests import gemini_wire as gemini
from tests import ollama_wire as ollama
from tests import openai_chat_wire as chat_api
from tests import openai_responses_wire as responses

JsonObject = dict[str, Any]
SIGNATURE = "c2lnbmVkLWJ5LWl0cy1tYWtlcg=="
"""Each service signs or encrypts what it thought with it: so it is seen in a request."""


@dataclass(frozen=True)
class Service:
    """A service that thinks and calls a tool, then answers: its address, its model, its bodies; `calling` takes a number."""

    api: str
    url: str
    members: Mapping[str, Any]
    calling: Callable[[int], JsonObject]
    answering: JsonObject


def reasoned(number: int) -> JsonObject:
    return responses.reasoning(number, encrypted_content=SIGNATURE)


SERVICES = (
    Service(
        "anthropic-messages",
        "https://api.anthropic.com/v1/messages",
        {"model": "claude-sonnet-4-5", "max_tokens": 2048},
        lambda number: anthropic.message(
            {"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE},
            anthropic.call(number),
            stop_reason="tool_use",
            model="claude-sonnet-4-5",
        ),
        anthropic.message(anthropic.text("Found."), model="claude-sonnet-4-5"),
    ),
    Service(
        "openai-chat",
        "https://api.deepseek.com/v1/chat/completions",
        {"model": "deepseek-reasoner"},
        lambda number: chat_api.completion(
            chat_api.choice(
                chat_api.message(
                    None, reasoning_content=SIGNATURE, tool_calls=[chat_api.call(number)]
                ),
                stop="tool_calls",
            ),
            model="deepseek-reasoner",
        ),
        chat_api.completion(chat_api.choice(chat_api.message("Found.")), model="deepseek-reasoner"),
    ),
    Service(
        "openai-responses",
        "https://api.openai.com/v1/responses",
        {"model": "gpt-5"},
        lambda number: responses.response(reasoned(number), responses.call(number), model="gpt-5"),
        responses.response(responses.message("Found."), model="gpt-5"),
    ),
    Service(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:generateContent",
        {},
        lambda _: gemini.said(
            gemini.signed(gemini.call(), SIGNATURE), modelVersion="gemini-3-pro-preview"
        ),
        gemini.said(gemini.text("Found."), modelVersion="gemini-3-pro-preview"),
    ),
    Service(
        "ollama",
        "http://127.0.0.1:11434/api/chat",
        {"model": "qwen3", "stream": False},
        lambda _: ollama.last(
            {"content": "", "thinking": SIGNATURE, "tool_calls": [ollama.call("look")]},
            model="qwen3",
        ),
        ollama.last({"content": "Found."}, model="qwen3"),
    ),
    Service(
        "bedrock-converse",
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
        {},
        lambda number: bedrock.body(
            bedrock.thought("Hm.", SIGNATURE), bedrock.call(number), stop="tool_use"
        ),
        bedrock.body(bedrock.text("Found.")),
    ),
)


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[onrecord.Conversation]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'chat.db'}") as store:
        chat = store.conversation("rules")
        schema: JsonObject = {"type": "object", "properties": {}}
        chat.tools.declare([{"name": "look", "input_schema": schema}])
        yield chat


def send(chat: onrecord.Conversation, service: Service, answer: JsonObject) -> Request:
    """Send the request that the conversation makes; return it."""
    request = chat.request(service.api)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=answer))
    body = {**service.members, **request.body}
    with httpx2.Client(transport=transport) as client, chat.recording():
        client.post(service.url, content=jsontext.write(body)).raise_for_status()
    return request


def play(
    chat: onrecord.Conversation, service: Service, number: int, words: str, document: Path
) -> list[Request]:
    """Play a prompt with a document, a call with a structured result, and an answer."""
    chat.user(words, documents=[document])
    first = send(chat, service, service.calling(number))
    (call,) = chat.open_calls()
    chat.tool_result(call.id, {"found": words})
    return [first, send(chat, service, service.answering)]


@pytest.fixture
def rule_2(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what makes this another release, with a rule that users' words go in capitals."""
    render = requests.render

    def changed(history: History, block: Block, options: Options) -> Block:
        number = history.responses.rules_of(block.asked, options.rules)
        if number < 2 or block.plain.get("kind") != "text" or block.response:
            return block
        return replace(block, plain={**block.plain, "text": block.plain["text"].upper()})

    def rendered(history: History, options: Options, data: Mapping[str, bytes]) -> Request:
        turns = tuple(
            replace(turn, blocks=[changed(history, block, options) for block in turn.blocks])
            for turn in history.turns
        )
        return render(replace(history, turns=turns), options, data)

    def release() -> None:
        monkeypatch.setattr(request_template, "RULES", 2)
        monkeypatch.setattr(rendering, "render", rendered)

    return release


def spoken(request: Request) -> list[object]:
    """Return the messages of a request."""
    return list(
        next(
            request.body[name] for name in ("messages", "contents", "input") if name in request.body
        )
    )


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.api)
def test_a_conversation_goes_on_over_a_change_of_the_rules(
    chat: onrecord.Conversation,
    service: Service,
    rule_2: Callable[[], None],
    tmp_path: Path,
) -> None:
    document = tmp_path / "notes.md"
    document.write_text("# Notes", "utf-8")
    *_, before = play(chat, service, 1, "before", document)
    rule_2()
    *_, after = play(chat, service, 2, "after", document)
    assert spoken(after)[: len(spoken(before))] == spoken(before)
    text = json.dumps(dict(after.body))
    assert "AFTER" in text
    assert "BEFORE" not in text
    assert text.count(SIGNATURE) == 2, after.report
    outcomes = list(replays(chat))
    assert [outcome.is_rendered for outcome in outcomes] == [True] * 4, outcomes


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.api)
def test_what_was_not_sent_before_goes_by_the_newest_rules(
    chat: onrecord.Conversation, service: Service, rule_2: Callable[[], None], tmp_path: Path
) -> None:
    document = tmp_path / "notes.md"
    document.write_text("# Notes", "utf-8")
    play(chat, service, 1, "before", document)
    chat.user("amid")
    rule_2()
    text = json.dumps(dict(chat.request(service.api).body))
    assert "AMID" in text
    assert "before" in text


def test_a_conversation_without_requests_goes_by_the_rules_of_its_start(
    chat: onrecord.Conversation, rule_2: Callable[[], None]
) -> None:
    chat.user("before")
    rule_2()
    chat.user("after")
    assert "AFTER" not in json.dumps(dict(chat.request("gemini").body))


def test_a_conversation_that_begins_later_goes_by_the_later_rules(
    tmp_path: Path, rule_2: Callable[[], None]
) -> None:
    rule_2()
    with onrecord.connect(f"sqlite:///{tmp_path / 'later.db'}") as store:
        chat = store.conversation("later")
        chat.user("after")
        start = next(iter(chat.log.read())).event()
        assert isinstance(start, ConversationStarted)
        assert start.rules == 2
        assert "AFTER" in json.dumps(dict(chat.request("gemini").body))


def test_an_older_release_renders_what_a_newer_one_sent_by_the_rules_that_it_knows(
    chat: onrecord.Conversation,
    rule_2: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    document = tmp_path / "notes.md"
    document.write_text("# Notes", "utf-8")
    with monkeypatch.context() as newer:
        newer.setattr(request_template, "RULES", 2)
        play(chat, SERVICES[0], 1, "newer", document)
    rule_2()
    monkeypatch.setattr(request_template, "RULES", 1)
    assert "newer" in json.dumps(dict(chat.request("gemini").body))


def test_a_request_with_an_option_of_a_newer_release_is_not_rendered_and_says_so(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    document = tmp_path / "notes.md"
    document.write_text("# Notes", "utf-8")
    known = Options.plain

    def later(options: Options) -> JsonObject:
        return {**known(options), "summaries": "short"}

    with monkeypatch.context() as newer:
        newer.setattr(Options, "plain", later)
        play(chat, SERVICES[0], 1, "newer", document)
    for outcome in replays(chat):
        assert (outcome.is_whole, outcome.is_rendered) == (True, False)
        assert "'summaries'" in (outcome.remark or "")
        assert "newer Onrecord" in (outcome.remark or "")
        recipe = outcome.sent.event.recipe
        assert recipe is not None
        with pytest.raises(onrecord.errors.SchemaNewer):
            options_of(recipe)


def test_a_value_of_an_option_that_only_a_newer_release_has_is_named() -> None:
    later = Recipe(api="gemini", version=1, options={"thinking": "summarise"}, renderer="")
    with pytest.raises(onrecord.errors.SchemaNewer, match="'thinking'"):
        options_of(later)
