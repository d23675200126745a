"""A fake of AWS KMS, by its wire: JSON 1.1 over HTTP, as boto3 speaks it.

What it answers is as in the reference of the KMS API. Its ciphertexts are real: AES-256-GCM, bound to the
encryption context, with the id of the key before them.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from uuid import uuid4

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.local_http import LocalHttp

JsonObject = dict[str, Any]
ALIAS = "alias/onrecord"
_ARN = "arn:aws:kms:eu-central-1:111122223333:key/"
_DELETED_AT = 1_797_000_000.0


class Refusal(Exception):
    """What KMS answers with status 400, by its code."""


class KmsServer:
    """Keys behind an alias; `calls` are the operations that were asked for, with what was sent."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, JsonObject]] = []
        self._keys: dict[str, bytes] = {}
        self._deleted: set[str] = set()
        self._alias = self._new()
        self._http = LocalHttp(self.answer)

    def __enter__(self) -> Self:
        self._http.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.__exit__(*exc)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.port}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        sent = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        operation = handler.headers["X-Amz-Target"].removeprefix("TrentService.")
        self.calls.append((operation, sent))
        verbs: dict[str, Callable[[JsonObject], JsonObject]] = {
            "DescribeKey": lambda sent: self._metadata(self._arn(sent["KeyId"])),
            "Encrypt": self._encrypt,
            "Decrypt": self._decrypt,
            "CreateKey": lambda _: self._metadata(self._new()),
            "UpdateAlias": self._update_alias,
            "ScheduleKeyDeletion": self._schedule_key_deletion,
        }
        try:
            status, told = 200, verbs[operation](sent)
        except Refusal as refusal:
            # KMS may quote what was sent: none of it is to be handed on.
            status = 400
            told = {"__type": f"{refusal}", "message": f"Refused: {json.dumps(sent)}"}
        data = json.dumps(told).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/x-amz-json-1.1")
        handler.send_header("Content-Length", f"{len(data)}")
        handler.end_headers()
        handler.wfile.write(data)

    def _new(self) -> str:
        arn = f"{_ARN}{uuid4()}"
        self._keys[arn] = secrets.token_bytes(32)
        return arn

    def _arn(self, key_id: str) -> str:
        arn = self._alias if key_id == ALIAS else key_id
        if arn not in self._keys:
            raise Refusal("NotFoundException")
        return arn

    def _usable(self, key_id: str) -> str:
        arn = self._arn(key_id)
        if arn in self._deleted:
            raise Refusal("KMSInvalidStateException")
        return arn

    def _metadata(self, arn: str) -> JsonObject:
        metadata: JsonObject = {"Arn": arn, "KeyId": arn.removeprefix(_ARN), "KeyState": "Enabled"}
        if arn in self._deleted:
            metadata |= {"KeyState": "PendingDeletion", "DeletionDate": _DELETED_AT}
        return {"KeyMetadata": metadata}

    def _encrypt(self, sent: JsonObject) -> JsonObject:
        arn, nonce = self._usable(sent["KeyId"]), secrets.token_bytes(12)
        plain = base64.b64decode(sent["Plaintext"])
        data = nonce + AESGCM(self._keys[arn]).encrypt(nonce, plain, _context(sent))
        blob = base64.b64encode(arn.encode() + b"\0" + data).decode()
        return {"KeyId": arn, "CiphertextBlob": blob, "EncryptionAlgorithm": "SYMMETRIC_DEFAULT"}

    def _decrypt(self, sent: JsonObject) -> JsonObject:
        arn = self._usable(sent["KeyId"])
        of, _, data = base64.b64decode(sent["CiphertextBlob"]).partition(b"\0")
        if of != arn.encode():
            raise Refusal("IncorrectKeyException")
        try:
            plain = AESGCM(self._keys[arn]).decrypt(data[:12], data[12:], _context(sent))
        except InvalidTag:
            raise Refusal("InvalidCiphertextException") from None
        return {"KeyId": arn, "Plaintext": base64.b64encode(plain).decode()}

    def _update_alias(self, sent: JsonObject) -> JsonObject:
        assert sent["AliasName"] == ALIAS
        self._alias = self._usable(sent["TargetKeyId"])
        return {}

    def _schedule_key_deletion(self, sent: JsonObject) -> JsonObject:
        assert 7 <= sent["PendingWindowInDays"] <= 30
        arn = self._usable(sent["KeyId"])
        self._deleted.add(arn)
        return {"KeyId": arn, "DeletionDate": _DELETED_AT, "KeyState": "PendingDeletion"}


def _context(sent: JsonObject) -> bytes:
    return json.dumps(sent.get("EncryptionContext", {}), sort_keys=True).encode()
