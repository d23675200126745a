"""What a request went out with is cut out of binary streams too, which stay streams."""

import base64
import json
from typing import Any

import pytest

from onrecord.adapters.wire.bodies.credentials import Credentials, credentials_of
from onrecord.adapters.wire.eventstream import Decoder, Frame, failure_of
from onrecord.adapters.wire.secrets import PLACEHOLDER
from onrecord.adapters.wire.wires import WIRES
from tests.anthropic_wire import message, stream_events
from tests.anthropic_wire import text as said_text
from tests.bedrock_wire import body, chunked, error, event, exception, frame, spelled, text

KEY_ID = "AKIDCANARY0000000001"
TOKEN = "canary-session/token+0001=="
SIGNATURE = "canary5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
SCOPE = f"Credential={KEY_ID}/20261121/us-east-1/bedrock/aws4_request"
SENT = {
    "Authorization": f"AWS4-HMAC-SHA256 {SCOPE}, SignedHeaders=host, Signature={SIGNATURE}",
    "X-Amz-Security-Token": TOKEN,
}
SECRETS = (KEY_ID, TOKEN, SIGNATURE)
TARGET = "/model/m/converse-stream?X-Amz-Signature=canary-query-0001"
ECHO = f"Refused {SENT['Authorization']} with {TOKEN} canary-query-0001"
ALIKE = spelled(body(text("Hello."), text("password: hunter2hunter2")))


def digest(text: str) -> bytes:
    return bytes([len(text) % 256] * 16)


def known() -> Credentials:
    return credentials_of(SENT, TARGET, b"{}", WIRES["anthropic-messages"], digest)


def cleaned(data: bytes) -> bytes:
    clean = known().out_of_answer(data, streamed=True)
    for secret in (*SECRETS, "canary"):
        assert secret.encode() not in clean
        assert base64.b64encode(secret.encode())[:-4] not in clean
    return clean


def frames(data: bytes) -> list[Frame]:
    decoder = Decoder()
    found = decoder.feed(data)
    assert (decoder.fault, decoder.tail) == (None, b"")
    return list(found)


def events(data: bytes) -> list[Any]:
    return [json.loads(base64.b64decode(json.loads(one.payload)["bytes"])) for one in frames(data)]


@pytest.mark.parametrize("secret", SECRETS)
def test_the_parts_of_a_signature_are_looked_for(secret: str) -> None:
    mark = PLACEHOLDER + digest(secret).hex()
    assert known().out_of_text(f"<{secret}>") == f"<{mark}>"


def test_frames_that_hold_no_secret_are_kept_byte_for_byte() -> None:
    data = ALIKE + b"".join(map(chunked, stream_events(message(said_text("token=abcdefgh12345")))))
    assert known().out_of_answer(data, streamed=True) == data


def test_what_a_frame_repeats_is_cut_and_the_frames_are_whole() -> None:
    data = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ECHO}})
    clean = cleaned(ALIKE + data + ALIKE)
    assert clean.startswith(ALIKE)
    assert clean.endswith(ALIKE)
    assert len(frames(clean)) == len(frames(ALIKE)) * 2 + 1


def test_what_an_exception_repeats_or_names_is_cut() -> None:
    told = frames(cleaned(exception("accessDeniedException", f"{ECHO} api_key: canary0002xyz")))
    failure = failure_of(told[0])
    assert failure is not None
    assert failure["type"] == "accessDeniedException"
    assert failure["message"].startswith("Refused AWS4-HMAC-SHA256 ")


def test_what_an_exception_that_is_no_json_repeats_is_cut() -> None:
    headers = {":message-type": "exception", ":exception-type": "e"}
    assert frames(cleaned(frame(headers, f"<p>{ECHO}</p>".encode())))


def test_what_the_header_of_an_error_repeats_is_cut() -> None:
    failure = failure_of(frames(cleaned(error("InternalError", ECHO)))[0])
    assert failure is not None
    assert failure["message"].startswith("Refused AWS4-HMAC-SHA256 ")


def test_what_an_event_in_a_frame_repeats_is_cut() -> None:
    failed = {"type": "error", "error": {"message": ECHO, "authorization": "canary-named-01"}}
    said = {"type": "content_block_delta", "index": 0, "delta": {"text": "password: hunter2hunter"}}
    told = events(cleaned(chunked(said) + chunked(failed)))
    assert told[0] == said
    assert told[1]["error"]["authorization"].startswith(PLACEHOLDER)


@pytest.mark.parametrize("lost", [1, 5, 20, 60, 111])
def test_what_broke_off_amid_a_frame_holds_no_secret(lost: int) -> None:
    failed = {"type": "error", "error": {"message": ECHO, "authorization": "canary-named-01"}}
    clean = cleaned(ALIKE + chunked(failed)[:-lost])
    assert clean.startswith(ALIKE)
    clean = cleaned(ALIKE + exception("accessDeniedException", ECHO)[:-lost])
    assert clean.startswith(ALIKE)


@pytest.mark.parametrize("place", [3, 9, 40, -1])
def test_what_follows_a_damaged_frame_holds_no_secret(place: int) -> None:
    damaged = bytearray(ALIKE[: len(ALIKE) // 2] + ALIKE)
    damaged[place] ^= 1
    failed = chunked({"type": "error", "error": {"message": ECHO}})
    cleaned(bytes(damaged) + failed + exception("accessDeniedException", ECHO))


def test_what_was_said_amid_a_frame_that_broke_off_stays() -> None:
    data = event("contentBlockDelta", {"delta": {"text": "password: hunter2hunter2"}})[:-9]
    assert known().out_of_answer(data, streamed=True) == data


@pytest.mark.parametrize("whole", [True, False])
def test_lines_that_are_values_are_cut_where_they_say_an_error(whole: bool) -> None:
    said = {"message": {"role": "assistant", "content": "password: hunter2hunter2"}, "done": False}
    failed = {"error": f"{ECHO} Authorization: Bearer canary-0001-other"}
    data = json.dumps(said).encode() + b"\n" + json.dumps(failed).encode() + b"\n"
    clean = cleaned(data if whole else data[:-3])
    assert json.loads(clean.splitlines()[0]) == said
    assert "canary" not in clean.decode()
