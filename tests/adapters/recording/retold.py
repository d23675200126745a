"""A program that sends what the conversation renders, and a model that answers as the test says."""

from pathlib import Path

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.rendering import ask
from onrecord.adapters.recording.plan import Outgoing
from onrecord.adapters.recording.state import OpenRequest
from onrecord.domain import jsontext
from onrecord.domain.log import Backend
from onrecord.projections.apis.request import Options
from onrecord.projections.history.windows import Window
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Anthropic, Program, Spelling


class Retold:
    """A recorded conversation that goes on from what it renders."""

    def __init__(
        self, folder: Path, spelling: Spelling | None = None, backend: Backend | None = None
    ) -> None:
        self.program = Program(Recorded(folder, backend), spelling or Anthropic())
        self.api = self.program.spelling.api
        self.bodies: list[bytes] = []

    @property
    def chat(self) -> Conversation:
        return self.program.recorded.chat

    def send(self) -> OpenRequest:
        """Send what is rendered now."""
        head = self.chat.head()
        asked = ask(
            stream_of(self.chat).backend,
            stream_of(self.chat).lineage(head.version, head),
            Options(api=self.api),
        )
        recorder = self.program.recorded.recorder
        recorder.remember(asked)
        body = jsontext.write({"model": "m", **asked.request.body})
        self.bodies.append(body)
        return recorder.begin(
            Outgoing(self.api, self.program.spelling.endpoint, body, compacts=False)
        )

    def answered(self, text: str | None, *calls: str) -> None:
        """Send, and be answered."""
        self.program.answer(self.send(), text, calls)

    def exchange(self, prompt: str, answer: str) -> int:
        """Say something and be answered; return the version of the prompt."""
        version = self.chat.user(prompt).last
        self.answered(answer)
        return version

    def said(self) -> list[str]:
        """What the next request says, block by block; of a summary its last line."""
        return [text.rpartition("\n")[2] for text in self.program.main()]

    def words(self, at: int | None = None, window: Window | None = None) -> str:
        """All of a request, as text to look for words in."""
        return jsontext.write(self.chat.request(self.api, at=at, window=window).body).decode()
