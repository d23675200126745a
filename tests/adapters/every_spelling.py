"""How Gemini, Ollama and Bedrock spell what a program and its model say; and all spellings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from onrecord.domain.jsontext import JsonObject
from tests.adapters.recording.own_history import SPELLINGS, Chat, List, Spelling


class Gemini:
    api = "gemini"
    endpoint = "/v1beta/models/m:generateContent"

    def user(self, text: str) -> List:
        return [{"role": "user", "parts": [{"text": text}]}]

    def system(self, text: str) -> JsonObject:
        return {"systemInstruction": {"parts": [{"text": text}]}}

    def results(self, **gave: str) -> List:
        parts = [
            {"functionResponse": {"id": call, "name": "look", "response": {"result": text}}}
            for call, text in gave.items()
        ]
        return [{"role": "user", "parts": parts}]

    def body(self, history: List, **more: Any) -> JsonObject:
        return {"contents": history, **more}

    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject:
        said: List = [] if text is None else [{"text": text}]
        made: List = [
            {"functionCall": {"id": call, "name": "look", "args": {"of": call}}} for call in calls
        ]
        return candidate([*said, *made])

    def echo(self, answer: JsonObject) -> List:
        return [answer["candidates"][0]["content"]]

    def tool(self, name: str) -> JsonObject:
        return {"functionDeclarations": [{"name": name}]}


def candidate(parts: List) -> JsonObject:
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"totalTokenCount": 2},
        "modelVersion": "m",
        "responseId": uuid4().hex,
    }


class Ollama(Chat):
    api = "ollama"
    endpoint = "/api/chat"

    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": text or ""}
        if calls:
            message["tool_calls"] = [
                {"id": call, "function": {"index": at, "name": "look", "arguments": {"of": call}}}
                for at, call in enumerate(calls)
            ]
        return {"model": "m", "created_at": "", "message": message, "done": True}

    def echo(self, answer: JsonObject) -> List:
        return [answer["message"]]


class Bedrock:
    api = "bedrock-converse"
    endpoint = "/model/m/converse"

    def user(self, text: str) -> List:
        return [{"role": "user", "content": [{"text": text}]}]

    def system(self, text: str) -> JsonObject:
        return {"system": [{"text": text}]}

    def results(self, **gave: str) -> List:
        content = [
            {"toolResult": {"toolUseId": call, "content": [{"text": text}]}}
            for call, text in gave.items()
        ]
        return [{"role": "user", "content": content}]

    def body(self, history: List, **more: Any) -> JsonObject:
        tools = more.pop("tools", None)
        config = {} if tools is None else {"toolConfig": {"tools": tools}}
        return {"messages": history, **config, **more}

    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject:
        said: List = [] if text is None else [{"text": text}]
        made: List = [{"toolUse": {"toolUseId": it, "name": "look", "input": {}}} for it in calls]
        return {
            "output": {"message": {"role": "assistant", "content": [*said, *made]}},
            "stopReason": "tool_use" if calls else "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        }

    def echo(self, answer: JsonObject) -> List:
        return [answer["output"]["message"]]

    def tool(self, name: str) -> JsonObject:
        schema = {"json": {"type": "object"}}
        return {"toolSpec": {"name": name, "inputSchema": schema}}


EVERY: list[Spelling] = [*SPELLINGS, Gemini(), Ollama(), Bedrock()]
