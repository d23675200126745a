"""Routes for programs that call models themselves: what is next, what was sent, what was answered."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.route import Call, Route, answered, reading
from onrecord.adapters.service.routes.conversation_paths import CONVERSATION, writing
from onrecord.adapters.service.routes.conversations import begun, conversation_of
from onrecord.adapters.service.routes.messages import RecordedAt, recorded
from onrecord.projections.history.history import NextInput

ApiName = Annotated[str, Field(min_length=1, max_length=100, examples=["openai-chat"])]
ModelName = Annotated[str, Field(min_length=1, max_length=500)]
Json = dict[str, Any]


class Next(Model):
    """What a runtime does next."""

    next: NextInput
    """`ready`: ask the model. `deferred`: calls await their results. `nothing`: all is answered."""


class SentRequest(Model):
    """A request that a program sends to a provider by itself."""

    api: ApiName
    """The name of the API."""

    request: Json | str
    """The body as the API has it: an object, or the text of one, which is kept byte for byte."""

    model: ModelName | None = None
    """The model, where the path of the API's URL names it and no member of the body."""


class ReceivedResponse(Model):
    """An answer that a program has of a provider."""

    api: ApiName
    """The name of the API."""

    response: Json | str | Annotated[list[Json], Field(max_length=100_000)]
    """The body as the API gave it: an object, the text of one, or the chunks of a stream."""

    request: Version | Json | str
    """What it answers: the version of a recorded request, or the body of one, recorded with it."""

    model: ModelName | None = None
    """The model, where the path of the API's URL names it and no member of the request."""


async def next_input(call: Call[Empty, Empty]) -> Response:
    """Say whether to ask the model."""
    conversation, _ = await begun(call)
    return answered(Next(next=await conversation.next_input()))


async def record_request(call: Call[Empty, SentRequest]) -> Response:
    """Record a request before a program sends it; the conversation begins with it if it is new."""
    sent = call.body
    conversation = conversation_of(call)
    return recorded(await conversation.record_request(sent.request, api=sent.api, model=sent.model))


async def record_response(call: Call[Empty, ReceivedResponse]) -> Response:
    """Record what a provider answered; the same answer again changes nothing."""
    received = call.body
    done = await conversation_of(call).record_response(
        received.response, api=received.api, request=received.request, model=received.model
    )
    return recorded(done)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    reading(
        *(CONVERSATION + "/next", "nextInput", "Is the model to be asked now?"),
        *(next_input, Next),
    ),
    writing(
        *("/requests", "recordRequest", "Record a request to a provider."),
        *(record_request, RecordedAt),
        body=SentRequest,
    ),
    writing(
        *("/responses", "recordResponse", "Record the answer of a provider."),
        *(record_response, RecordedAt),
        body=ReceivedResponse,
    ),
)
