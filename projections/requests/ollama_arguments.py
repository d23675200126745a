"""What the SDK's `chat` takes for a request: the body's messages, their pictures as bytes."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.requests.ollama_draft import Draft


def arguments_of(draft: Draft, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keyword arguments of a call.

    The SDK (0.6.3, `Image.serialize_model`) sends the content of a file whose path a text is: so
    no text is given to it as a picture.
    """
    messages = cast("list[JsonObject]", body["messages"])
    if not any("images" in message for message in messages):
        return body
    return {**body, "messages": [_message(draft, message) for message in messages]}


def _message(draft: Draft, message: JsonObject) -> JsonObject:
    images = message.get("images")
    if not isinstance(images, list):
        return message
    shown = [_bytes(draft, image) for image in cast("list[Any]", images)]
    return {**message, "images": [image for image in shown if image is not None]}


def _bytes(draft: Draft, image: Any) -> bytes | None:
    try:
        return b64decode(image, validate=True)
    except (binascii.Error, TypeError, ValueError):
        draft.note("left out", "L3", None, "a picture that is no base64: the SDK would not send it")
        return None
