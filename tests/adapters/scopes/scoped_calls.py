"""Calls that are made within a scope, or beside it: what the tests of scopes share."""

import openai

import onrecord
from tests.adapters.openai_clients import HELLO, MODEL, types

WAITING = 10


def ask(client: openai.OpenAI) -> None:
    client.chat.completions.create(model=MODEL, messages=HELLO)


async def ask_later(client: openai.AsyncOpenAI) -> None:
    await client.chat.completions.create(model=MODEL, messages=HELLO)


def calls(chat: onrecord.Conversation) -> int:
    return types(chat).count("request.sent")
