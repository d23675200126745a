"""What a route is: an entry of the one table that the service and its OpenAPI document are made from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import AsyncStore
from onrecord.adapters.recording.actor_names import AttributionNames
from onrecord.adapters.service.access import Access, Role
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.service.metrics import ServiceMetrics
from onrecord.adapters.service.model import Empty, json_bytes
from onrecord.adapters.service.problems import Problem, response_of
from onrecord.adapters.service.quotas import Share
from onrecord.adapters.service.tails import Tails
from onrecord.adapters.service.tenants import Tenants
from onrecord.adapters.storage.steps import Steps
from onrecord.domain.errors import StorageError
from onrecord.domain.log import Backend

QueryT = TypeVar("QueryT", bound=BaseModel)
BodyT = TypeVar("BodyT", bound=BaseModel)

MediaType = Literal[
    "application/json",
    "application/jsonl",
    "application/octet-stream",
    "text/event-stream",
    "text/html",
    "text/plain",
]


@dataclass(frozen=True, slots=True)
class Call(Generic[QueryT, BodyT]):
    """A request that may be answered: who asks, and what was given, looked through.

    `find_access` finds out again what whoever asks may do. `store` is that of the `tenant`, on a `backend`
    that it shares with those of others; what is asked of the backend is a step of `steps`. `path` has the parameters of the path by name. `names` are
    who acts and under which rules. `tenants` are all whose stores there are. `share` is what the
    body takes of the memory that all bodies have together.
    """

    request: Request
    find_access: Callable[[Request], Awaitable[Access]]
    access: Access
    tenant: UUID
    store: AsyncStore
    backend: Backend
    steps: Steps
    limits: Limits
    tails: Tails
    metrics: ServiceMetrics
    names: AttributionNames
    path: Mapping[str, Any]
    query: QueryT
    body: BodyT
    tenants: Tenants
    share: Share

    async def is_allowed(self, role: Role) -> bool:
        """Return whether whoever asked may still do what needs a role; True where nobody can tell now."""
        try:
            return (await self.find_access(self.request)).allows(role)
        except Problem:
            return False
        except StorageError:
            return True


@dataclass(frozen=True, slots=True)
class Route(Generic[QueryT, BodyT]):
    """A method and a path, what they take and give, and the function that answers.

    `role` is what a key needs, None where anybody may ask. `answer` is the model of the body of a
    2xx answer; without one, the answer is bytes of `media_type`. `takes_bytes` says that the body is
    bytes, which the function reads within limits of its own. `is_tail` says that the answer waits for
    what follows: it counts as a tail, and not as a request. `is_long` says that the
    answer takes as long as the log is large. `statuses` are those that it may answer
    beside `status` and those that any route may. `problem` makes the answer that tells of a problem at
    a path. `access` says what whoever asks may do; without it the door does, by Authorization alone.
    `tells_reads` says that an answer is a read, of which the access log is told; else the function tells it.
    """

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    name: str
    summary: str
    role: Role | None
    query: type[QueryT]
    body: type[BodyT]
    answers: Callable[[Call[QueryT, BodyT]], Awaitable[Response]]
    answer: type[BaseModel] | None = None
    media_type: MediaType = "application/json"
    takes_bytes: bool = False
    is_tail: bool = False
    is_long: bool = False
    status: int = 200
    statuses: tuple[int, ...] = ()
    problem: Callable[[Problem, str], Response] = response_of
    access: Callable[[Request], Awaitable[Access]] | None = None
    tells_reads: bool = True

    @property
    def is_followed(self) -> bool:
        """Whether the answer goes on until the client has enough: it counts itself, as a tail."""
        return self.media_type == "text/event-stream"

    @property
    def takes_body(self) -> bool:
        """Whether a body of JSON is read."""
        return self.body is not Empty


def reading(
    path: str,
    name: str,
    summary: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
    answer: type[BaseModel],
    *,
    role: Role = "read",
    query: type[BaseModel] = Empty,
    statuses: tuple[int, ...] = (),
    is_tail: bool = False,
    is_long: bool = False,
) -> Route[Any, Any]:
    """Return a route that is asked by GET."""
    return Route(
        *("GET", path, name, summary),
        role=role,
        query=query,
        body=Empty,
        answers=answers,
        answer=answer,
        statuses=statuses,
        is_tail=is_tail,
        is_long=is_long,
    )


def posting(
    role: Role,
    path: str,
    name: str,
    summary: str,
    answers: Callable[[Call[Any, Any]], Awaitable[Response]],
    answer: type[BaseModel],
    *,
    body: type[BaseModel] = Empty,
    query: type[BaseModel] = Empty,
    status: int = 200,
    statuses: tuple[int, ...] = (),
) -> Route[Any, Any]:
    """Return a route that is asked by POST."""
    return Route(
        *("POST", path, name, summary),
        role=role,
        query=query,
        body=body,
        answers=answers,
        answer=answer,
        status=status,
        statuses=statuses,
    )


_JSON: Final = "application/json"


def answered(
    model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer that has a model as its body; members at their defaults are in it."""
    body = json_bytes(model)
    return Response(body, status, headers, media_type=_JSON)


def tagged(request: Request, model: BaseModel) -> Response:
    """Return the answer that has a model as its body, or says that the client has it already.

    The tag is of the bytes. So what was erased since, a name that was forgotten, or another release
    makes another one, and a cache is asked each time whether what it has still is so.
    """
    body = json_bytes(model)
    tag = etag(sha256(body).hexdigest()[:32])
    if is_known(request, tag):
        return not_modified(tag)
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    return Response(body, 200, headers, media_type=_JSON)


def etag(*parts: object) -> str:
    """Return the entity tag of what these parts say whole: it never changes under them.

    It is weak, for answers may be packed (RFC 9110, 8.8.1).
    """
    named = "-".join(str(part) for part in parts)
    return f'W/"{named}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has what a tag stands for (RFC 9110, 13.1.2)."""
    known = request.headers.get("if-none-match", "")
    tags = {each.strip() for each in known.split(",")}
    return tag in tags or "*" in tags


def not_modified(tag: str) -> Response:
    """Return the answer for a client that has it already."""
    return Response(status_code=304, headers={"etag": tag})
