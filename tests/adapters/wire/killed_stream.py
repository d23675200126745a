"""A program that reads a stream through a recorded client, and says each piece that it gets.

Its arguments: the client's name, the server's URL and the store's.
"""

import asyncio
import os
import sys
from typing import Any

import openai

import onrecord
from tests.adapters.sdk_calls import SDKS, Asked

KEY = "support/4711"
MESSAGES: list[Any] = [{"role": "user", "content": "Hello?"}]


def said() -> None:
    os.write(1, b"a piece\n")


def main(name: str, url: str, store: str) -> None:
    chat = onrecord.connect(store).conversation(KEY)
    asked = Asked(streams=True, each=said)
    if name == "openai-chat":
        client = chat.record(openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0))
        asked.all(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))
    elif name == "openai-responses":
        client = chat.record(openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0))
        asked.all(client.responses.create(model="m", input="Hello?", stream=True))
    else:
        (sdk,) = [each for each in SDKS if each.name == name]
        with asyncio.Runner() as runner:
            sdk.asks(chat.record(sdk.made(url)), runner, asked)


if __name__ == "__main__":
    main(*sys.argv[1:])
