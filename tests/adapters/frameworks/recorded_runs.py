"""Runs of agents whose items are stored, spelled by hand, and whose client is recorded as well."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, ClassVar, Self

import anthropic
import openai

import onrecord
from onrecord.adapters.frameworks.session import ItemSession, NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from tests.adapters.frameworks.written_sessions import entry, text
from tests.adapters.openai_server import Call, OpenAIServer, Says
from tests.adapters.replaying_server import replaying, whole
from tests.projections.frameworks.test_langgraph_readings import checkpoint, message, typed

JsonObject = dict[str, Any]

SCRIPT = (
    Says("Let me look.", (Call("track", '{"parcel":"NW-1"}'),)),
    Says("In depot North."),
    Says("In depot South."),
)
SAID = [
    ("user", "Where is parcel NW-1?"),
    ("assistant", "Let me look."),
    ("user", ""),
    ("assistant", "In depot North."),
    ("user", "And NW-2?"),
    ("assistant", "In depot South."),
]
FIRST, SECOND, FOUND = SAID[0][1], SAID[4][1], "found at dock 7"


class Run(ABC):
    """A run of a framework: what it sends, and the items that it stores of that.

    `sent` is what the next request begins with.
    """

    framework: ClassVar[str]

    def __init__(self, store: Store, conversation: onrecord.Conversation | None = None) -> None:
        sessions = Sessions(store, self.framework)
        self.session: ItemSession = sessions.session("one")
        self.conversation = store.conversation(sessions.key("one"))
        self.sent: list[JsonObject] = []
        self._recorded = conversation or self.conversation
        self._stack = ExitStack()
        self._plain: Any = None

    def __enter__(self) -> Self:
        server = self._stack.enter_context(self.server())
        self._plain = self.client(server.url)
        self._stack.callback(self._plain.close)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def ask(self, *, recorded: bool = True) -> list[NewItem]:
        """Ask the model what is to be sent, and return the items of its answer."""
        client = self._recorded.record(self._plain) if recorded else self._plain
        return self.answered(self.asked(client).model_dump(mode="json", exclude_none=True))

    def server(self) -> AbstractContextManager[Any]:
        return OpenAIServer(SCRIPT)

    def client(self, url: str) -> Any:
        return openai.OpenAI(api_key="sk-test", base_url=url, max_retries=0)

    @abstractmethod
    def asked(self, client: Any) -> Any:
        """Send a request, and return the answer of the SDK."""

    @abstractmethod
    def prompt(self, said: str) -> list[NewItem]:
        """The items of a prompt, which is to be sent."""

    @abstractmethod
    def answered(self, reply: JsonObject) -> list[NewItem]:
        """The items of an answer, which is to be sent."""

    @abstractmethod
    def result(self, said: str) -> list[NewItem]:
        """The items of the result of the last call, which is to be sent."""


class AgentsRun(Run):
    framework = "openai-agents"

    def asked(self, client: Any) -> Any:
        return client.responses.create(model="gpt-5", input=self.sent)

    def prompt(self, said: str) -> list[NewItem]:
        return self._sent({"role": "user", "content": said})

    def answered(self, reply: JsonObject) -> list[NewItem]:
        return self._sent(*reply["output"])

    def result(self, said: str) -> list[NewItem]:
        call = self.sent[-1]["call_id"]
        return self._sent({"type": "function_call_output", "call_id": call, "output": said})

    def _sent(self, *items: JsonObject) -> list[NewItem]:
        self.sent += items
        return [NewItem(item) for item in items]


class _ChatRun(Run):
    def asked(self, client: Any) -> Any:
        return client.chat.completions.create(model="gpt-5", messages=self.sent)

    def prompt(self, said: str) -> list[NewItem]:
        self.sent.append({"role": "user", "content": said})
        return self.spelled_prompt(said)

    def answered(self, reply: JsonObject) -> list[NewItem]:
        said = reply["choices"][0]["message"]
        self.sent.append(said)
        return self.spelled_answer(reply["id"], said)

    def result(self, said: str) -> list[NewItem]:
        call = self.sent[-1]["tool_calls"][0]["id"]
        self.sent.append({"role": "tool", "tool_call_id": call, "content": said})
        return self.spelled_result(call, said)

    @abstractmethod
    def spelled_prompt(self, said: str) -> list[NewItem]: ...

    @abstractmethod
    def spelled_answer(self, answer_id: str, said: JsonObject) -> list[NewItem]: ...

    @abstractmethod
    def spelled_result(self, call: str, said: str) -> list[NewItem]: ...


class ChatAgentsRun(_ChatRun):
    """The same SDK on the other API: its items have no ids of their own there."""

    framework = "openai-agents"

    def spelled_prompt(self, said: str) -> list[NewItem]:
        return [NewItem({"role": "user", "content": said})]

    def spelled_answer(self, answer_id: str, said: JsonObject) -> list[NewItem]:
        ids: JsonObject = {
            "id": "__fake_id__",
            "provider_data": {"model": "gpt-5", "response_id": answer_id},
        }
        part: JsonObject = {"type": "output_text", "text": said["content"], "annotations": []}
        answer: JsonObject = {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        calls: list[JsonObject] = [
            {"type": "function_call", "call_id": call["id"], **call["function"], **ids}
            for call in said.get("tool_calls", ())
        ]
        return [NewItem(item) for item in ({**answer, **ids}, *calls)]

    def spelled_result(self, call: str, said: str) -> list[NewItem]:
        return [NewItem({"type": "function_call_output", "call_id": call, "output": said})]


class PydanticRun(_ChatRun):
    framework = "pydantic-ai"
    count = 0

    def spelled_prompt(self, said: str) -> list[NewItem]:
        return self._entry("request", {"part_kind": "user-prompt", "content": said})

    def spelled_answer(self, answer_id: str, said: JsonObject) -> list[NewItem]:
        parts: list[JsonObject] = [{"part_kind": "text", "content": said["content"]}]
        parts += [
            {
                "part_kind": "tool-call",
                "tool_call_id": call["id"],
                "tool_name": call["function"]["name"],
                "args": call["function"]["arguments"],
            }
            for call in said.get("tool_calls", ())
        ]
        return self._entry("response", *parts, provider_response_id=answer_id)

    def spelled_result(self, call: str, said: str) -> list[NewItem]:
        part = {"part_kind": "tool-return", "tool_call_id": call, "tool_name": "track"}
        return self._entry("request", {**part, "content": said})

    def _entry(self, kind: str, *parts: JsonObject, **members: Any) -> list[NewItem]:
        before = f"e{self.count}" if self.count else None
        self.count += 1
        spelled = {"kind": kind, "parts": list(parts), **members}
        own = f"e{self.count}"
        self.session.record(state={"record": {"head_id": own}})
        return [NewItem({"id": own, "parent_id": before, "message": spelled}, own)]


class ThreadRun(_ChatRun):
    """A thread of LangGraph: each item is a checkpoint that goes on with the list of the one before."""

    framework = "langgraph"
    count = 0

    def spelled_prompt(self, said: str) -> list[NewItem]:
        return self._checkpoint(message("human", said, id="a uuid"))

    def spelled_answer(self, answer_id: str, said: JsonObject) -> list[NewItem]:
        calls = [
            {"id": call["id"], "name": "track", "args": {"parcel": "NW-1"}}
            for call in said.get("tool_calls", ())
        ]
        ids = {"id": f"lc_run--{self.count}", "response_metadata": {"id": answer_id}}
        return self._checkpoint(message("ai", said["content"], tool_calls=calls, **ids))

    def spelled_result(self, call: str, said: str) -> list[NewItem]:
        return self._checkpoint(message("tool", said, tool_call_id=call))

    def _checkpoint(self, said: JsonObject) -> list[NewItem]:
        held = self.session.load().items
        before = held[-1].version if held else 0
        parts: list[Any] = [[0, self.count]] if self.count else []
        self.count += 1
        value = {"base": before, "parts": [*parts, {"new": [typed(said)]}]}
        return [NewItem(checkpoint(self.count, 0, value))]


class ClaudeRun(Run):
    framework = "claude-agent-sdk"
    count = 0

    def server(self) -> AbstractContextManager[Any]:
        call = {"type": "tool_use", "id": "toolu_1", "name": "track", "input": {"parcel": "NW-1"}}
        first, *others = ([text(each.text)] for each in SCRIPT)
        contents: Sequence[list[JsonObject]] = ([*first, call], *others)
        return replaying(*(whole(_anthropic(n, each)) for n, each in enumerate(contents)))

    def client(self, url: str) -> Any:
        origin = url.removesuffix("/v1")
        return anthropic.Anthropic(api_key="sk-test", base_url=origin, max_retries=0)

    def asked(self, client: Any) -> Any:
        return client.messages.create(model="claude-test-1", max_tokens=99, messages=self.sent)

    def prompt(self, said: str) -> list[NewItem]:
        self.sent.append({"role": "user", "content": said})
        return [self._entry("user", said)]

    def answered(self, reply: JsonObject) -> list[NewItem]:
        self.sent.append({"role": "assistant", "content": reply["content"]})
        ids = {"id": reply["id"]}
        return [self._entry("assistant", [block], message=ids) for block in reply["content"]]

    def result(self, said: str) -> list[NewItem]:
        block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": said}
        self.sent.append({"role": "user", "content": [block]})
        return [self._entry("user", [block])]

    def _entry(self, speaker: str, content: Any, **members: Any) -> NewItem:
        self.count += 1
        return entry(self.count, speaker, content, **members)


def _anthropic(number: int, content: list[JsonObject]) -> JsonObject:
    return {
        "id": f"msg_answer_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": content,
        "stop_reason": "end_turn" if len(content) == 1 else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }


RUNS: dict[str, type[Run]] = {
    "Agents": AgentsRun,
    "Agents on chat": ChatAgentsRun,
    "Claude": ClaudeRun,
    "pydantic-ai": PydanticRun,
    "LangGraph": ThreadRun,
}
