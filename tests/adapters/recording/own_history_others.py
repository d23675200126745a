"""How Gemini, Ollama and Bedrock spell what a program and its model say, for programs of tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from onrecord.domain.jsontext import JsonObject
from tests.adapters.recording.own_history import List


class Gemini:
    """Calls have ids, as Gemini 3 gives them."""

    api = "gemini"
    endpoint = "/v1beta/models/gemini-2.5-pro:generateContent"

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
        said = [] if text is None else [{"text": text}]
        made: List = [{"functionCall": {"id": call, "name": "look", "args": {}}} for call in calls]
        content = {"role": "model", "parts": [*said, *made]}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "modelVersion": "gemini-2.5-pro",
        }

    def echo(self, answer: JsonObject) -> List:
        return [answer["candidates"][0]["content"]]

    def tool(self, name: str) -> JsonObject:
        return {"functionDeclarations": [{"name": name, "parameters": {"type": "OBJECT"}}]}


class Ollama:
    api = "ollama"
    endpoint = "/api/chat"

    def user(self, text: str) -> List:
        return [{"role": "user", "content": text}]

    def system(self, text: str) -> JsonObject:
        return {"system": text}

    def results(self, **gave: str) -> List:
        return [
            {"role": "tool", "content": text, "tool_name": "look", "tool_call_id": call}
            for call, text in gave.items()
        ]

    def body(self, history: List, **more: Any) -> JsonObject:
        system = more.pop("system", None)
        leading = [] if system is None else [{"role": "system", "content": system}]
        return {"model": "m", "messages": [*leading, *history], **more}

    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": text or ""}
        if calls:
            function: JsonObject = {"name": "look", "arguments": {}}
            message["tool_calls"] = [{"id": call, "function": function} for call in calls]
        return {"model": "m", "message": message, "done": True, "done_reason": "stop"}

    def echo(self, answer: JsonObject) -> List:
        return [answer["message"]]

    def tool(self, name: str) -> JsonObject:
        return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


class Bedrock:
    api = "bedrock-converse"
    endpoint = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse"

    def user(self, text: str) -> List:
        return [{"role": "user", "content": [{"text": text}]}]

    def system(self, text: str) -> JsonObject:
        return {"system": [{"text": text}]}

    def results(self, **gave: str) -> List:
        content = [
            {"toolResult": {"toolUseId": call, "content": [{"text": text}], "status": "success"}}
            for call, text in gave.items()
        ]
        return [{"role": "user", "content": content}]

    def body(self, history: List, **more: Any) -> JsonObject:
        return {"messages": history, **more}

    def answer(self, text: str | None, calls: Sequence[str]) -> JsonObject:
        said = [] if text is None else [{"text": text}]
        made: List = [
            {"toolUse": {"toolUseId": call, "name": "look", "input": {}}} for call in calls
        ]
        return {
            "output": {"message": {"role": "assistant", "content": [*said, *made]}},
            "stopReason": "tool_use" if calls else "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        }

    def echo(self, answer: JsonObject) -> List:
        return [cast("JsonObject", answer["output"]["message"])]

    def tool(self, name: str) -> JsonObject:
        return {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}}
