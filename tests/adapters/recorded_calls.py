"""A conversation, a model server and an SDK client between them: what the recorder's tests share."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import anthropic
from anthropic.types import MessageParam

from onrecord.adapters.conversation.conversation import Conversation, stream_of, tenancy_of
from onrecord.adapters.demo.services.scenes import Answer, JsonObject, Script
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.recording.tenancy import Recorders, Tenancy
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.wire.clients.binding import Binding
from onrecord.adapters.wire.clients.conversation_wire import ConversationWire
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import Event, RequestSent
from onrecord.domain.log import Append, Backend, RecordedEvent, Verdict
from tests.factories import TENANT

MODEL = "claude-sonnet-5"
KEY = "sk-ant-canary-0123456789"
WAITING = 10
HELLO: list[JsonObject] = [{"role": "user", "content": "Hello"}]
GREETING = Answer(content=({"type": "text", "text": "Hello! What can I do for you?"},))
CALLING = Answer(
    content=(
        {"type": "text", "text": "I look it up."},
        {"type": "tool_use", "id": "toolu_01", "name": "look_up", "input": {"id": 4711}},
        {"type": "tool_use", "id": "toolu_02", "name": "look_up", "input": {"id": 4712}},
    ),
    stop_reason="tool_use",
)


class Counting(Memory):
    """A store that counts its durable writes, and takes none while it is `broken`."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[Append] = []
        self.blobs = 0
        self.broken: Exception | None = None

    def append(self, appends: Any) -> list[Verdict]:
        self.appends += appends
        if self.broken:
            raise self.broken
        return super().append(appends)

    def put_blob(self, tenant: Any, conversation_id: Any, chunks: Any) -> Any:
        self.blobs += 1
        if self.broken:
            raise self.broken
        return super().put_blob(tenant, conversation_id, chunks)


class OwnRecorder(ConversationWire):
    """A conversation that is recorded by a recorder of the test's own."""

    def __init__(self, stream: Stream, recorders: Recorders, made: Recorder) -> None:
        super().__init__(stream, recorders)
        self.made = made

    def recorder(self) -> Recorder:
        return self.made

    def expect(self, api: str, key: str) -> None:
        self.made.expect(api, key)


class Recorded:
    """A conversation in a store of its own, and the recorder of its wire."""

    def __init__(self, folder: Path, backend: Backend | None = None) -> None:
        self.store = Counting() if backend is None else backend
        self.folder = folder
        self.spool = Spool(folder / "spool")
        self.chat = Conversation(Tenancy(self.store, TENANT, self.spool), "support/4711")
        self.recorder = self.new_recorder()

    @property
    def binding(self) -> Binding:
        return self.binding_of(self.recorder)

    def new_binding(self) -> Binding:
        return self.binding_of(self.new_recorder())

    def binding_of(self, recorder: Recorder) -> Binding:
        recorders = tenancy_of(self.chat).recorders
        return Binding(recorders, OwnRecorder(stream_of(self.chat), recorders, recorder))

    def new_recorder(self) -> Recorder:
        """As another process would have it: it knows nothing of what this one did."""
        return Recorder(stream_of(self.chat), self.spool)

    @property
    def counting(self) -> Counting:
        assert isinstance(self.store, Counting)
        return self.store

    def events(self) -> list[Event]:
        return [known(recorded) for recorded in self.chat.events(after=0)]

    def types(self) -> list[str]:
        """The names of the events after the first, in order."""
        return [recorded.type for recorded in self.chat.events(after=1)]

    def requests(self) -> list[RequestSent]:
        return requests_of(self.chat)


class Calls:
    """A recorded client of a server that plays a script."""

    def __init__(self, recorded: Recorded, server: DemoServer, client: anthropic.Anthropic) -> None:
        self.recorded = recorded
        self.server = server
        self.plain = client
        self.client = record(client, recorded.binding)

    def ask(self, messages: Any = HELLO, **more: Any) -> anthropic.types.Message:
        create: Any = self.client.messages.create
        asked = {"model": MODEL, "max_tokens": 1024, "messages": messages, **more}
        return cast("anthropic.types.Message", create(**asked))

    def stream(self, messages: Any = HELLO, **more: Any) -> anthropic.types.Message:
        with self.client.messages.stream(
            model=MODEL, max_tokens=1024, messages=cast("list[MessageParam]", messages), **more
        ) as events:
            return events.get_final_message()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.close()


@contextmanager
def calling(recorded: Recorded, script: Script, retries: int = 0) -> Generator[Calls]:
    """Run a server and a recorded client that talks to it."""
    with (
        DemoServer(script) as server,
        anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=retries) as client,
        Calls(recorded, server, client) as calls,
    ):
        yield calls


def requests_of(chat: Conversation) -> list[RequestSent]:
    events = [known(recorded) for recorded in chat.events(after=0)]
    return [event for event in events if isinstance(event, RequestSent)]


def known(recorded: RecordedEvent) -> Event:
    event = recorded.event()
    assert not isinstance(event, Unrecognised | Erased)
    return event


def unchanged(message: anthropic.types.Message) -> JsonObject:
    """The message as the SDK would send it back."""
    return message.model_dump(mode="json", exclude_unset=True, by_alias=True)


def said(message: anthropic.types.Message) -> JsonObject:
    return {"role": "assistant", "content": unchanged(message)["content"]}


def results(*ids: str, content: str = "found") -> JsonObject:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": i, "content": content} for i in ids],
    }
