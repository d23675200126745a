"""docs/format.md is true: its vectors are recomputed, by our code and by code that knows only the page."""

import base64
import hashlib
import hmac
import json
import re
import struct
from datetime import UTC, datetime
from functools import partial, reduce
from pathlib import Path
from typing import Any, get_args
from uuid import UUID, uuid5

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import BaseModel

from onrecord.adapters.seals.signing import read_private_key, signed, verified
from onrecord.adapters.storage.append import keyed_digest
from onrecord.adapters.upkeep.keys import parsed
from onrecord.domain import content, encoding, events, header, jsontext, tools
from onrecord.domain.encoding import NAMES, VERSIONS, Unrecognised
from onrecord.domain.encryption.subjects import subject_id
from onrecord.domain.errors import MalformedJson
from onrecord.domain.marks.marked_ids import (
    access_id,
    day_of,
    destroyed_key_id,
    erasure_id,
    hold_id,
    key_id,
    move_id,
    operators_of,
)
from onrecord.domain.new_events import Stamp, draft
from onrecord.domain.operators import SHAPES, decode_fact, encode_fact, retention_id
from onrecord.domain.request_template import (
    BlobSpan,
    ContentSpan,
    EncodedSpan,
    LiteralSpan,
    Recipe,
    SharedSpan,
    Template,
)
from onrecord.domain.seals.checkpoint import Checkpoint, key_name_of, log_id_of, parse_checkpoint
from onrecord.domain.seals.merkle import Tree
from onrecord.projections.verification.moves import pair_leaf

PAGE = (Path(__file__).parents[1] / "docs" / "format.md").read_text(encoding="utf-8")
Vector = dict[str, Any]
KEYS: Vector = json.loads(PAGE.split("```json keys\n")[1].split("```")[0])
SEALS: Vector = json.loads(PAGE.split("```json seals\n")[1].split("```")[0])
HOLDS: Vector = json.loads(PAGE.split("```json holds\n")[1].split("```")[0])
MOVES: Vector = json.loads(PAGE.split("```json moves\n")[1].split("```")[0])
ACCESS: Vector = json.loads(PAGE.split("```json access\n")[1].split("```")[0])
SUBJECTS: Vector = json.loads(PAGE.split("```json subjects\n")[1].split("```")[0])
VECTORS: list[Vector] = json.loads(PAGE.split("```json vectors\n")[1].split("```")[0])

VALUES: dict[str, type[BaseModel]] = {
    "native block": content.Native,
    "text": content.Text,
    "document": content.Document,
    "blob": content.Blob,
    "reasoning": content.Reasoning,
    "tool call": content.ToolCall,
    "tool result": content.ToolResult,
    "tool definition": tools.ToolDefinition,
    "builtin tool": tools.BuiltinTool,
    "tool source": tools.ToolSource,
    "template": Template,
    "literal span": LiteralSpan,
    "content span": ContentSpan,
    "shared span": SharedSpan,
    "blob span": BlobSpan,
    "base64 span": EncodedSpan,
    "recipe": Recipe,
    "unfinished block": events.Unfinished,
}

each_vector = pytest.mark.parametrize("vector", VECTORS, ids=[v["what"] for v in VECTORS])


@each_vector
def test_a_second_implementation_computes_the_same_bytes(vector: Vector) -> None:
    """Only hashlib, json and struct: whoever reads the page can write this."""
    client_header = json.dumps(
        vector["header"], sort_keys=True, separators=(",", ":"), ensure_ascii=True
    ).encode("ascii")
    body = json.dumps(vector["body"], separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "backslashreplace"
    )
    suffix = struct.pack(">qqq", vector["version"], vector["position"], vector["recorded_at"])
    digest = hashlib.sha256(bytes.fromhex(vector["salt"]) + body).digest()
    leaf = hashlib.sha256(b"\x00" + client_header + suffix + digest).digest()
    assert client_header.hex() == vector["header_bytes"]
    assert body.hex() == vector["body_bytes"]
    assert suffix.hex() == vector["recorded_suffix"]
    assert digest.hex() == vector["digest"]
    assert leaf.hex() == vector["leaf"]


@each_vector
def test_our_code_writes_these_bytes(vector: Vector) -> None:
    given = vector["header"]
    event = encoding.decode(given["type"], given["schema"], bytes.fromhex(vector["body_bytes"]))
    assert not isinstance(event, Unrecognised)
    known = header.parse_header(bytes.fromhex(vector["header_bytes"]))
    stamp = Stamp(
        event_id=known.event_id,
        occurred_at=known.occurred_at,
        salt=bytes.fromhex(vector["salt"]),
        tenant=known.tenant,
        conversation_id=known.conversation_id,
        actor=known.actor,
        correlation_id=known.correlation_id,
        causation_id=known.causation_id,
        metadata=known.metadata,
    )
    drafted = draft(event, stamp)
    assert drafted.header.hex() == vector["header_bytes"]
    assert drafted.body.hex() == vector["body_bytes"]


@each_vector
def test_our_code_commits_to_the_same_leaf(vector: Vector) -> None:
    client_header = bytes.fromhex(vector["header_bytes"])
    recorded = header.recorded_header(
        client_header, vector["version"], vector["position"], vector["recorded_at"]
    )
    digest = header.body_digest(bytes.fromhex(vector["salt"]), bytes.fromhex(vector["body_bytes"]))
    assert recorded.hex() == vector["header_bytes"] + vector["recorded_suffix"]
    assert digest.hex() == vector["digest"]
    assert header.leaf(recorded, digest).hex() == vector["leaf"]


def test_the_vectors_show_what_is_easily_got_wrong() -> None:
    surrogate, number, moved, spelled, *_ = (bytes.fromhex(v["body_bytes"]) for v in VECTORS[1:])
    assert "👋".encode() in surrogate
    assert rb"here: \ud83d" in surrogate
    assert b'"of":123456789012345678901234567890' in number
    assert b'"note":null' in number
    assert b"awaited" not in number
    assert b'{"$onrecord.blob":' in moved
    assert b"[1.0,-0.0,0.0001,1e-05,1000000000000000.0,1e+16,1.5e+16,5e-324," in spelled
    assert spelled.endswith(b'},"input_tokens":0}')


def test_the_vectors_show_each_step_of_a_call() -> None:
    bodies = [v["body"] for v in VECTORS if NAMES[v["header"]["type"]] in get_args(tools.CallStep)]
    asked, decided, begun, renewed = bodies
    assert asked["unsure"] is True
    assert (decided["decision"], decided["number"], "unsure" in decided) == ("denied", 0, False)
    assert (begun["number"], "renews" in begun) == (0, False)
    assert (renewed["number"], renewed["renews"]) == (1, True)


def test_what_is_left_out_is_at_the_default_that_the_page_says() -> None:
    said: dict[str, object] = {"awaited": True, "blocks": 0, "is_error": False}
    said |= {"cancelled": False, "relation": "extends", "interrupts": False}
    said |= {"is_json": False, "rules": 1, "unsure": False, "renews": False}
    said |= {"stream": "", "whole": False}
    for shape in (*NAMES.values(), *VALUES.values()):
        for name, field in shape.model_fields.items():
            default = field.get_default(call_default_factory=True)
            if not field.is_required() and name != "kind" and default not in ((), {}):
                assert default == said.get(name), f"{shape.__name__}.{name}"


def test_a_number_has_as_many_digits_as_the_page_says() -> None:
    longest = b"1" * 4300
    assert "4,300 digits" in PAGE
    assert jsontext.write(jsontext.read(longest)) == longest
    with pytest.raises(MalformedJson, match="too long"):
        jsontext.read(longest + b"1")


def test_the_vectors_have_the_events_that_they_say() -> None:
    assert [UUID(v["header"]["event"]).version for v in VECTORS] == [7] * len(VECTORS)
    assert jsontext.write(VECTORS[1]["body"]).hex() == VECTORS[1]["body_bytes"]


def test_a_second_implementation_makes_the_same_ids_and_bodies_of_keys() -> None:
    """Only hashlib, hmac and json, as whoever reads the page has."""
    digest = hashlib.sha256(KEYS["secret"].encode()).hexdigest()
    text = f"key {digest}".encode()
    keyed = hmac.new(bytes.fromhex(KEYS["log_key"]), text, "sha256").digest()[:16]
    name = bytearray(b"ONRK" + hashlib.sha256(b"onrecord key" + keyed).digest()[4:16])
    name[6], name[8] = 0x80 | name[6] & 0x0F, 0x80 | name[8] & 0x3F
    assert (digest, keyed.hex()) == (KEYS["digest"], KEYS["keyed_digest"])
    assert str(UUID(bytes=bytes(name))) == KEYS["id"]
    assert KEYS["token"] == f"ork_{UUID(KEYS['id']).hex}_{KEYS['secret']}"
    for told in KEYS["bodies"]:
        assert json.dumps(told["body"], separators=(",", ":")).encode().hex() == told["body_bytes"]


def test_a_second_implementation_signs_the_same_checkpoint() -> None:
    """Only base64, hashlib, hmac and Ed25519, as whoever reads the page has."""
    digest_key = bytes.fromhex(SEALS["digest_key"])
    name = bytearray(hmac.new(digest_key, b"onrecord log", "sha256").digest()[:16])
    name[6], name[8] = 0x80 | name[6] & 0x0F, 0x80 | name[8] & 0x3F
    log = f"onrecord.log/{UUID(bytes=bytes(name))}"
    assert log == f"onrecord.log/{SEALS['log']}"
    signer = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(SEALS["seed"]))
    public = b"\x01" + signer.public_key().public_bytes_raw()
    key_id = hashlib.sha256(log.encode() + b"\n" + public).digest()[:4]
    assert SEALS["public_key"] == f"{log}+{key_id.hex()}+{base64.b64encode(public).decode()}"
    seed = base64.b64encode(b"\x01" + bytes.fromhex(SEALS["seed"])).decode()
    assert SEALS["private_key"] == f"PRIVATE+KEY+{log}+{key_id.hex()}+{seed}"
    seconds, micros = divmod(SEALS["sealed_at"], 1_000_000)
    sealed = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{micros:06}Z"
    root = base64.b64encode(bytes.fromhex(SEALS["root"])).decode()
    text = (
        f"{log}/{SEALS['shard']}\n{SEALS['size']}\n{root}\n"
        f"incarnation {SEALS['incarnation']}\nsealed {sealed}\n"
    )
    signature = base64.b64encode(key_id + signer.sign(text.encode())).decode()
    assert SEALS["note"] == f"{text}\n— {log} {signature}\n"
    assert f"| {SEALS['size']} | `{SEALS['root']}` |" in PAGE


def test_our_code_signs_the_same_checkpoint() -> None:
    keyed = partial(keyed_digest, bytes.fromhex(SEALS["digest_key"]))
    key = read_private_key(SEALS["private_key"])
    checkpoint = Checkpoint(
        log_id_of(keyed),
        SEALS["shard"],
        SEALS["size"],
        bytes.fromhex(SEALS["root"]),
        UUID(SEALS["incarnation"]),
        SEALS["sealed_at"],
    )
    assert key.public.name == key_name_of(checkpoint.log_id) == f"onrecord.log/{SEALS['log']}"
    assert str(key.public) == SEALS["public_key"]
    note = signed(checkpoint.text(), key).encode()
    assert note.decode() == SEALS["note"]
    assert parse_checkpoint(verified(note, [key.public]).text) == checkpoint


def test_our_code_makes_the_ids_and_bodies_of_keys() -> None:
    keyed = partial(keyed_digest, bytes.fromhex(KEYS["log_key"]))
    assert parsed(KEYS["token"]) == (UUID(KEYS["id"]), KEYS["digest"])
    assert str(key_id(keyed, KEYS["digest"])) == KEYS["id"]
    assert str(operators_of(UUID(KEYS["tenant"]))) == KEYS["operators"]
    for told in KEYS["bodies"]:
        body = bytes.fromhex(told["body_bytes"])
        fact = decode_fact(told["type"], 1, body)
        assert fact.model_dump(mode="json", exclude_defaults=True) == told["body"]
        assert encode_fact(fact) == body


def marked(mark: bytes, name: bytes) -> str:
    """Only hashlib: whoever reads the page can write this."""
    octets = bytearray(mark + hashlib.sha256(name).digest()[4:16])
    octets[6] = 0x80 | octets[6] & 0x0F
    octets[8] = 0x80 | octets[8] & 0x3F
    return str(UUID(bytes=bytes(octets)))


def test_a_second_implementation_computes_the_ids_of_holds_and_retention_classes() -> None:
    tenant, conversation = UUID(HOLDS["tenant"]).bytes, UUID(HOLDS["conversation"]).bytes

    def keyed(text: bytes) -> bytes:
        return hmac.digest(bytes.fromhex(HOLDS["log_key"]), text, "sha256")[:16]

    assert HOLDS["holds"] == {
        "conversation": marked(b"ONRH", b"onrecord hold" + tenant + conversation + bytes(8)),
        "tenant": marked(b"ONRH", b"onrecord tenant hold" + tenant + bytes(7) + b"\x01"),
    }
    of, label = b"onrecord retention" + tenant, keyed(b'label ["category"]')
    with_value = keyed(b'label ["category","health"]')
    assert HOLDS["retention"] == {
        "tenant": marked(b"ONRT", of),
        "conversation": marked(b"ONRT", of + b" conversation" + conversation),
        "label": marked(b"ONRT", of + b" label" + label),
        "label_value": marked(b"ONRT", of + b" label" + with_value),
    }


def test_our_code_makes_the_ids_and_bodies_of_holds_and_retention_classes() -> None:
    keyed = partial(keyed_digest, bytes.fromhex(HOLDS["log_key"]))
    tenant, conversation = UUID(HOLDS["tenant"]), UUID(HOLDS["conversation"])
    on_conversation, on_all = hold_id(tenant, conversation, 0), hold_id(tenant, None, 1)
    assert HOLDS["holds"] == {"conversation": str(on_conversation), "tenant": str(on_all)}
    targets: dict[str, tuple[Any, ...]] = {
        "tenant": (),
        "conversation": (conversation,),
        "label": (None, "category"),
        "label_value": (None, "category", "health"),
    }
    made = {name: str(retention_id(keyed, tenant, *of)) for name, of in targets.items()}
    assert HOLDS["retention"] == made
    for told in HOLDS["bodies"]:
        body = bytes.fromhex(told["body_bytes"])
        fact = decode_fact(told["type"], 1, body)
        assert fact.model_dump(mode="json", exclude_defaults=True) == told["body"]
        assert encode_fact(fact) == body


def test_both_make_the_id_of_what_was_read_on_a_day_and_ours_its_bodies() -> None:
    tenant, day = UUID(ACCESS["tenant"]), ACCESS["day"]
    name = b"onrecord access" + tenant.bytes + day.to_bytes(8)
    assert ACCESS["id"] == marked(b"ONRA", name) == str(access_id(tenant, day))
    for told in ACCESS["bodies"]:
        body = bytes.fromhex(told["body_bytes"])
        fact = decode_fact(told["type"], 1, body)
        assert day_of(fact.at) == day
        assert fact.model_dump(mode="json", exclude_defaults=True) == told["body"]
        assert encode_fact(fact) == body


def test_both_make_the_id_the_tree_and_the_bodies_of_what_came_from_another_log() -> None:
    tenant, origin = UUID(MOVES["tenant"]), UUID(MOVES["origin"])
    name = b"onrecord move" + tenant.bytes + origin.bytes
    assert MOVES["id"] == marked(b"ONRM", name) == str(move_id(tenant, origin))
    sides = [[bytes.fromhex(leaf) for leaf in MOVES[side]] for side in ("old", "new")]
    pairs = list(zip(*sides, strict=True))
    first, second, third = (hashlib.sha256(b"\x00" + old + new).digest() for old, new in pairs)
    left = hashlib.sha256(b"\x01" + first + second).digest()
    ours = reduce(Tree.grown, (pair_leaf(old, new) for old, new in pairs), Tree())
    assert MOVES["pairs"] == hashlib.sha256(b"\x01" + left + third).hexdigest() == ours.root().hex()
    for told in MOVES["bodies"]:
        body = bytes.fromhex(told["body_bytes"])
        fact = decode_fact(told["type"], 1, body)
        assert fact.model_dump(mode="json", exclude_defaults=True) == told["body"]
        assert encode_fact(fact) == body


def test_the_ids_of_an_erased_subject_and_its_key_follow_the_page() -> None:
    tenant, key = UUID(SUBJECTS["tenant"]), bytes.fromhex(SUBJECTS["log_key"])
    text = f"subject {tenant} {SUBJECTS['name']}".encode()
    digest = hmac.digest(key, text, "sha256")[:16].hex()
    named = uuid5(tenant, f"onrecord subject {digest}")
    assert (SUBJECTS["subject"], SUBJECTS["subject_id"]) == (digest, str(named))
    erasure = marked(b"ONRC", b"onrecord erasure" + tenant.bytes + named.bytes + bytes(8))
    gone = b"onrecord destroyed key" + tenant.bytes + SUBJECTS["key"].encode()
    assert (SUBJECTS["erasure"], SUBJECTS["destroyed"]) == (erasure, marked(b"ONRD", gone))


def test_our_code_makes_the_ids_and_bodies_of_an_erased_subject() -> None:
    tenant, digest = UUID(SUBJECTS["tenant"]), bytes.fromhex(SUBJECTS["subject"])
    named = subject_id(tenant, digest)
    ids = named, erasure_id(tenant, named, 0), destroyed_key_id(tenant, SUBJECTS["key"])
    assert tuple(map(str, ids)) == tuple(
        SUBJECTS[n] for n in ("subject_id", "erasure", "destroyed")
    )
    for told in SUBJECTS["bodies"]:
        body = bytes.fromhex(told["body_bytes"])
        fact = decode_fact(told["type"], 1, body)
        assert fact.model_dump(mode="json", exclude_defaults=True) == told["body"]
        assert encode_fact(fact) == body


def test_every_name_is_listed_with_its_members_in_order() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \| (\d+) \| (?:(.*) )?\|$", PAGE, re.MULTILINE)
    listed = {name: (int(schema), members) for name, schema, members in rows}
    ours = {name: (VERSIONS[name], members(shape)) for name, shape in NAMES.items()}
    operators = {name: (1, members(shape)) for name, shape in SHAPES.items()}
    assert listed == ours | operators


def test_every_value_is_listed_with_its_members_in_order() -> None:
    rows = re.findall(r"^\| ([a-z0-9 ]+?)(?: \(`([a-z0-9_]+)`\))? \| (`.*) \|$", PAGE, re.MULTILINE)
    listed = {name: (kind, members) for name, kind, members in rows}
    shapes = {name: (kind_of(shape), members(shape)) for name, shape in VALUES.items()}
    assert {name: listed.get(name) for name in shapes} == shapes


def members(shape: type[BaseModel]) -> str:
    fields = [(name, info) for name, info in shape.model_fields.items() if name != "line"]
    return ", ".join(
        f"`{name}{'' if info.is_required() or name == 'kind' else '?'}`" for name, info in fields
    )


def kind_of(shape: type[BaseModel]) -> str:
    kind = shape.model_fields.get("kind")
    return "" if kind is None else str(kind.default)
