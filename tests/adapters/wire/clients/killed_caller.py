"""A program to be killed: for each line on its input it forks a caller that talks until it dies.

A line names the model server's URL, the store's file and a conversation. The answer is the caller's
process id; the caller says each thing that it may rely on as a line of its own on the output.
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import anthropic

import onrecord


def chat_for_ever(client: anthropic.Anthropic, file: Path, key: str) -> None:
    store = onrecord.connect(f"sqlite:///{file}")
    chat = store.conversation(key)
    client = chat.record(client)
    acknowledge("pid", str(os.getpid()))
    number = 0
    while True:
        number += 1
        chat.user(f"Question {number}")
        acknowledge("said", f"Question {number}")
        request: Any = chat.request("anthropic-messages")
        with client.messages.stream(model="m", max_tokens=9, **request) as events:
            for event in events:
                if event.type == "message_stop":
                    acknowledge("answered", event.message.id)


def acknowledge(what: str, which: str) -> None:
    os.write(1, f"{what} {which}\n".encode())


def main() -> None:
    warnings.simplefilter("error")
    client = anthropic.Anthropic(api_key="demo", max_retries=0)
    for line in sys.stdin:
        url, file, key = line.split()
        child = os.fork()
        if child == 0:
            chat_for_ever(client.with_options(base_url=url), Path(file), key)
        os.waitpid(child, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main()
