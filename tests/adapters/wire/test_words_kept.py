"""The words that requests have in common with other systems, letter by letter.

Models are prompted, and programs written, for these; constants of the code are not asked here.
"""

from typing import Any

import pytest

import onrecord
from tests.adapters.tools.conversations import call_tools

PDF = b"%PDF-1.7"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


def messages(chat: onrecord.Conversation, **options: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = chat.request("openai-chat", model="gpt-4.1", **options)["messages"]
    return sent


@pytest.mark.parametrize("given", [None, "", " \n"])
def test_a_result_of_nothing_says_that_the_tool_succeeded(
    chat: onrecord.Conversation, given: str | None
) -> None:
    call_tools(chat, ("look", {}))
    chat.tool_result("call_1", given)
    assert messages(chat)[-1]["content"] == "Tool execution succeeded, but returned no result."


def test_a_call_that_was_given_up_says_that_it_was_canceled(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("look", {}))
    chat.cancel("call_1")
    assert messages(chat)[-1]["content"] == "Tool execution was canceled."


def test_a_signal_of_nothing_says_that_the_calls_were_waited_for(
    chat: onrecord.Conversation,
) -> None:
    chat.signal()
    assert messages(chat)[-1]["content"] == (
        "An event was triggered but no content was returned. Execution waited for all in-flight "
        "tool executions to complete before proceeding."
    )


def test_a_signal_of_nothing_that_interrupts_says_that_calls_were_canceled(
    chat: onrecord.Conversation,
) -> None:
    call_tools(chat, ("look", {}))
    chat.signal(interrupts=True)
    assert messages(chat)[-1]["content"] == (
        "An event was triggered but no content was returned. All in-flight tool executions were "
        "canceled."
    )


@pytest.mark.parametrize(
    ("tags", "words", "tag"),
    [
        (
            "short-id",
            "Documents extracted from tool call results:",
            '<document tool-name="look" tool-call-id="call_1" document-short-id="',
        ),
        (
            "doc-reference",
            "Documents extracted from tool calls (<doc /> tag + content pair):",
            '<doc toolName="look" toolCallId="call_1" documentId="',
        ),
    ],
)
def test_the_documents_of_results_have_their_preamble_and_tags(
    chat: onrecord.Conversation, tags: str, words: str, tag: str
) -> None:
    call_tools(chat, ("look", {}))
    chat.tool_result("call_1", {"file": PDF})
    preamble, before, document = messages(chat, tags=tags)[-1]["content"]
    assert preamble["text"] == words
    assert before["text"].startswith(tag)
    assert before["text"].endswith(" />")
    assert document["type"] == "file"


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ("short-id", []),
        ("doc-reference", ["Documents extracted from event data (<doc /> tag + content pair):"]),
    ],
)
def test_the_documents_of_signals_have_a_preamble_in_one_form(
    chat: onrecord.Conversation, tags: str, words: list[str]
) -> None:
    chat.signal({"file": PDF, "kind": "report"})
    content, *more = messages(chat, tags=tags)[-1]["content"]
    assert '"kind":"report"' in content["text"]
    *before, tag, document = more
    assert [part["text"] for part in before] == words
    assert tag["text"].startswith("<doc")
    assert document["type"] == "file"
