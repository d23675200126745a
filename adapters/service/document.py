"""The OpenAPI 3.1 document, made from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from onrecord.adapters.recording.actor_headers import ACTOR, DEPLOYMENT, ON_BEHALF_OF, POLICY
from onrecord.adapters.service.doors import TENANT
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import PATH_PARAMETERS
from onrecord.adapters.service.problems import PROBLEM_TYPES
from onrecord.adapters.service.route import Route
from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject

_SCHEMAS: Final = "#/components/schemas/{model}"
_OF_ANY: Final = (400, 404, 408, 413, 415, 421, 422, 429, 500, 503)
_OF_KEYED: Final = (401, 403)
_NAME: Final = re.compile(r"{(\w+)}")


class ProblemMember(Model):
    """What is wrong with one member of what was given."""

    pointer: str
    """Where it is, as a JSON pointer (RFC 6901)."""

    detail: str
    """What is wrong with it."""


class ProblemDetails(BaseModel):
    """A problem, as RFC 9457 has it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str
    """The kind of problem: a path of this service, which says what it means."""

    title: str
    """What the kind means."""

    status: int
    """The status of the answer."""

    detail: str | None = None
    """What is wrong here."""

    instance: str | None = None
    """The path that was asked."""

    errors: list[ProblemMember] | None = None
    """What is wrong with each member of the body, or of the query."""


def document(routes: Iterable[Route[Any, Any]], version: str) -> JsonObject:
    """Return the document that describes these routes."""
    table = tuple(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Onrecord",
            "version": version,
            "description": "The verbatim record of what agents said and did.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": _schemas(table),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "ork_<id>_<secret>"}
            },
        },
    }


def _operation(route: Route[Any, Any]) -> JsonObject:
    operation: JsonObject = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [
            *_path_parameters(route),
            *_query_parameters(route),
            *_header_parameters(route),
        ],
        "responses": _responses(route),
        "security": [] if route.role is None else [{"key": []}, {}],
    }
    if route.role is not None:
        operation["description"] = f"Needs a key to {route.role}."
    if route.takes_body:
        content = {"application/json": {"schema": _reference(route.body)}}
        operation["requestBody"] = {"required": True, "content": content}
    if route.takes_bytes:
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _path_parameters(route: Route[Any, Any]) -> Iterator[JsonObject]:
    for name in _NAME.findall(route.path):
        parameter = PATH_PARAMETERS[name]
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": parameter.description,
            "schema": parameter.adapter.json_schema(),
        }


def _query_parameters(route: Route[Any, Any]) -> Iterator[JsonObject]:
    schema = route.query.model_json_schema(ref_template=_SCHEMAS)
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        description = member.pop("description", None)
        yield {
            "name": name,
            "in": "query",
            "required": name in required,
            **({"description": description} if description else {}),
            "schema": member,
        }


def _header_parameters(route: Route[Any, Any]) -> Iterator[JsonObject]:
    headers: dict[str, str] = {}
    if route.role is not None:
        headers[TENANT] = "The tenant that is asked about, by a key for all tenants: a UUID."
    if route.role is not None and route.method != "GET":
        headers[ACTOR] = "Who acts, percent-encoded; without it the name of the key."
        headers[ON_BEHALF_OF] = "For whom they act, percent-encoded."
        headers[POLICY] = "The version of the policy in force."
        headers[DEPLOYMENT] = "The deployment that asks."
    if route.is_followed:
        headers["last-event-id"] = "The id of the last event that came: what follows it is sent."
    for name, description in headers.items():
        yield {
            "name": name.title(),
            "in": "header",
            "required": False,
            "description": description,
            "schema": {"type": "string"},
        }


def _responses(route: Route[Any, Any]) -> JsonObject:
    is_json = route.media_type == "application/json"
    answer: JsonObject = {"schema": {"type": "object" if is_json else "string"}}
    if route.answer is not None:
        answer = {"schema": _reference(route.answer)}
    statuses = {*_OF_ANY, *route.statuses, *(_OF_KEYED if route.role is not None else ())}
    problem = {"application/problem+json": {"schema": _reference(ProblemDetails)}}
    return {
        str(route.status): {
            "description": HTTPStatus(route.status).phrase,
            "content": {route.media_type: answer},
        },
        **{str(status): _other(status, problem) for status in sorted(statuses)},
    }


def _other(status: int, problem: JsonObject) -> JsonObject:
    if status == HTTPStatus.NOT_MODIFIED:
        return {"description": "The client has it already."}
    named = [kind.name for kind in PROBLEM_TYPES.values() if kind.status == status]
    return {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(named)}",
        "content": problem,
    }


def _reference(model: type[BaseModel]) -> JsonObject:
    return {"$ref": _SCHEMAS.format(model=model.__name__)}


def _schemas(routes: tuple[Route[Any, Any], ...]) -> JsonObject:
    taken = [route.body for route in routes if route.body is not Empty]
    given = [route.answer for route in routes if route.answer is not None]
    models = [*_in_mode(taken, "validation"), *_in_mode([*given, ProblemDetails], "serialization")]
    _, schema = models_json_schema(models, ref_template=_SCHEMAS)
    return {name: _without_defaults(each) for name, each in schema["$defs"].items()}


def _without_defaults(schema: JsonObject) -> JsonObject:
    """Return the schema of an object whose members say their defaults in words.

    Generators of clients take a member that has a default for one that is always there, and have
    callers give it.
    """
    members = schema.get("properties")
    if members is None:
        return schema
    return schema | {"properties": {name: _said(member) for name, member in members.items()}}


def _said(member: JsonObject) -> JsonObject:
    described = {name: value for name, value in member.items() if name != "default"}
    default = member.get("default")
    if default is not None:
        words = (member.get("description"), f"By default {jsontext.write(default).decode()}.")
        described["description"] = " ".join(filter(None, words))
    return described


def _in_mode(
    models: Iterable[type[BaseModel]], mode: Literal["validation", "serialization"]
) -> Iterator[tuple[type[BaseModel], Literal["validation", "serialization"]]]:
    return ((model, mode) for model in dict.fromkeys(models))
