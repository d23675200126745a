"""Every error that Onrecord raises on purpose, in one tree.

::

    OnrecordError
    ├── InvalidInput                what was given cannot be recorded or rendered
    │   ├── MalformedJson           bytes that are not JSON that can be kept without loss
    │   ├── InvalidContent          a block, a document or an id that no record can hold
    │   ├── UnknownApi              an API name that is none of ours
    │   ├── NothingToSend           a conversation that has no turn to render
    │   ├── ResultsWithoutConversation  results of tools for a conversation in which nothing was said
    │   ├── UnsupportedTool         a provider's tool that another API has not
    │   ├── SecretMissing           a request needs secrets, and they were cut before it was recorded
    │   ├── InvalidExport           a file that `onrecord export` did not write
    │   ├── InvalidModel            a process model, or an expression in it, that gives no tools
    │   └── UnsupportedClient       an object that is no client whose wire can be recorded
    ├── InvalidProvider             a package adds an API that cannot be used
    ├── ConversationNotFound        no conversation has that key or id
    ├── ConversationClosed          it was closed; a closed conversation takes no new facts
    ├── ConversationForgotten       it was erased; a forgotten conversation takes nothing any more
    ├── ConversationOnHold          a legal hold keeps it from being erased
    ├── VersionConflict             someone else appended first
    ├── RoundOpen                   calls await their results, and the request was not to go without
    ├── DocumentMissing             the bytes of a document were swept before its event came
    ├── IdempotencyMismatch         the same id was recorded before, with other content
    ├── NotInstalled                a library is missing that an extra of Onrecord brings
    ├── UnknownTool                 the model calls tools that there are not, again and again
    ├── ApprovalNotAsked            no person is asked to grant or deny that call
    ├── AlreadyDecided              somebody else granted or denied the call first
    ├── TooManyModelCalls           the model was asked as often as it may be, and still calls tools
    ├── AnswerNotRecorded           the loop of an agent asked, and no answer came into the conversation
    ├── NotRecorded                 the prompt could not be made durable, so no call was made
    ├── ViewStopped                 a view cannot be made anew before what stopped it is mended
    └── StorageError                the store cannot do it
        ├── StorageBusy             another process holds the lock for too long
        ├── StorageFull             no room on the disk, or a size limit was reached
        ├── StorageReadOnly         the file or the server takes no writes
        ├── StorageUnavailable      the server or the file cannot be reached
        ├── ForeignDatabase         the file or schema is not an Onrecord log
        ├── SchemaNewer             written by a newer Onrecord
        ├── SchemaOlder             needs `onrecord migrate`
        ├── SchemaUnreleased        made by no release of Onrecord
        ├── WrongNode               the log lies on another node of the Citus cluster
        ├── UnsupportedFilesystem   locks of the file system cannot be trusted
        ├── StaleCursor             the cursor belongs to another incarnation of the log
        └── CorruptRecord           stored bytes do not match their digest or their format
"""

from __future__ import annotations


class OnrecordError(Exception):
    """The root of all errors of this package; its message says what to do.

    All can be copied and pickled, so that they cross from one process to another.
    """

    def __reduce__(self) -> tuple[object, ...]:
        """Return how it is made again: Python would call a subclass with the message alone."""
        return _made_again, (type(self), self.args), vars(self)


def _made_again(kind: type[OnrecordError], args: tuple[object, ...]) -> OnrecordError:
    """Return an error of a kind by what Python's own error takes; its attributes are set later."""
    error = kind.__new__(kind)
    super(OnrecordError, error).__init__(*args)
    return error


class InvalidInput(OnrecordError, ValueError):
    """What was given cannot be recorded or rendered."""


class MalformedJson(InvalidInput):
    """The bytes are not JSON, or JSON that cannot be kept without loss."""


class InvalidContent(InvalidInput):
    """A block, a document or an id that no record can hold."""


class UnknownApi(InvalidInput):
    """The API is none that Onrecord renders or captures."""


class InvalidProvider(OnrecordError):
    """An installed package adds an API that cannot be used; the message names the package."""


class NothingToSend(InvalidInput):
    """The conversation has no turn that a request could hold."""


class UnsupportedDocument(InvalidInput):
    """A document that the user hands over, and that the API or the model cannot take.

    `modality` is its kind, `name` its name if it has one, `able` what they take in a user's message;
    `version` is its event's.
    """

    def __init__(
        self,
        api: str,
        model: str | None,
        modality: str,
        media_type: str,
        able: tuple[str, ...],
        version: int,
        why: str = "is not taken",
        *,
        name: str | None = None,
        is_remote: bool = False,
    ) -> None:
        """Say what is taken; `why` is said of the document, which only has an address if `is_remote`."""
        self.api = api
        self.model = model
        self.modality = modality
        self.media_type = media_type
        self.able = able
        self.version = version
        self.name = name
        whom = f"{api} ({model})" if model else api
        what = f"{modality} {name!r}" if name else modality
        beside = "" if modality not in able else f": it {why}"
        bytes_instead = "give its bytes, " if is_remote and modality in able else ""
        super().__init__(
            f"{whom} cannot take the {what} ({media_type}) in the user's message at version "
            f"{version}{beside}; it takes {', '.join(able) or 'nothing'}: {bytes_instead}ask another "
            "model, say the prompt otherwise with chat.edit_message, leave the event (a signal, say) out with chat.redact, or "
            "tell with capability_override= what the model takes"
        )


class ResultsWithoutConversation(InvalidInput):
    """Results of tools came where no conversation has begun; `code` is the word of process engines."""

    code = "TOOL_CALL_RESULTS_ON_EMPTY_CONTEXT"

    def __init__(self) -> None:
        """Say it as process engines do."""
        super().__init__(
            "Agent received tool call results, but the agent context was empty (no previous "
            "conversation). Is the context configured correctly?"
        )


class UnsupportedTool(InvalidInput):
    """A tool that providers run themselves, and that this API does not have, or not as declared.

    `tool` and `api` are their names, `able` those of the APIs that have it.
    """

    def __init__(
        self, tool: str, api: str, able: tuple[str, ...], advice: str | None = None
    ) -> None:
        """Say which APIs have it, or what it lacks where this one has it as well."""
        self.tool = tool
        self.api = api
        self.able = able
        others = f"{', '.join(able)} can" if able else "no API can"
        why = advice or f"{others}; define other tools with chat.tools.declare([...])"
        super().__init__(f"{api} cannot run {tool!r}: {why}")


class SecretMissing(InvalidInput):
    """A request needs secrets that were cut when they were recorded: only the caller has them.

    `members` are what holds them in the request, by JSON pointers, and what stands there instead.
    """

    def __init__(self, members: dict[str, str]) -> None:
        """Say which members need one."""
        self.members = members
        wanted = ", ".join(f'"{place}": ...' for place in members)
        super().__init__(
            "the request needs secrets that were cut when they were recorded: give each member as it "
            f"is to be sent, secrets={{{wanted}}}"
        )


class InvalidExport(InvalidInput):
    """The file was not written by `onrecord export`, or was cut or changed since."""


class InvalidModel(InvalidInput):
    """A process model, or an expression in it, that cannot be read or gives no tools.

    `code` is the word that process engines have for it, where they have one, such as
    `AD_HOC_SUB_PROCESS_NOT_FOUND`.
    """

    def __init__(self, message: str, code: str | None = None) -> None:
        """Keep the code for callers that tell errors apart by it."""
        self.code = code
        super().__init__(message)


class UnsupportedClient(InvalidInput):
    """The object is not a client whose wire can be recorded."""


class ConversationNotFound(OnrecordError, LookupError):
    """No conversation has that key or id."""


class ConversationClosed(OnrecordError):
    """The conversation was closed; start another, or fork it."""


class ConversationForgotten(OnrecordError):
    """The conversation was forgotten: what is left of it takes nothing any more."""

    def __init__(self, message: str = "the conversation was forgotten: start another") -> None:
        """Say what to do."""
        super().__init__(message)


class ConversationOnHold(OnrecordError):
    """A legal hold keeps what was to be erased; the message names the hold."""


class VersionConflict(OnrecordError):
    """Someone else appended first: read on from `current`, then decide again."""

    def __init__(self, expected: int, current: int) -> None:
        """Keep both versions for the caller's next decision."""
        self.expected = expected
        self.current = current
        super().__init__(
            f"expected the conversation at version {expected}, it is at {current}: "
            "read what is new, then append again"
        )


class RoundOpen(OnrecordError):
    """Calls (`awaited`, by id) await their results, and the request was not to go without."""

    def __init__(self, awaited: tuple[str, ...]) -> None:
        """Say how many calls there are, and their ids."""
        self.awaited = awaited
        await_results = "awaits its result" if len(awaited) == 1 else "await their results"
        super().__init__(
            f"{counted(len(awaited), 'call')} {await_results} ({', '.join(awaited)}): record them with chat.tool_result, or "
            "give the calls up with chat.cancel"
        )


class IdempotencyMismatch(OnrecordError):
    """The same id was recorded before, with other content: use a new id for a new fact."""


class DocumentMissing(OnrecordError):
    """The bytes of a document are not stored in the conversation whose event refers to them."""

    def __init__(
        self,
        message: str = "the bytes of a document are not stored, or were swept before its event came:"
        " store the document again, then append",
    ) -> None:
        """Say what to do."""
        super().__init__(message)


class NotInstalled(OnrecordError, ImportError):
    """A library is missing that an extra of Onrecord brings: install it."""

    def __init__(self, what: str, library: str | None, extra: str) -> None:
        """Say what to install."""
        super().__init__(f"{what} needs {library}: pip install 'onrecord[{extra}]'")


class UnknownTool(OnrecordError):
    """The model called tools that there are not, again and again; `names` are the last ones."""

    def __init__(self, names: tuple[str, ...], in_a_row: int) -> None:
        """Say what to do."""
        self.names = names
        super().__init__(
            f"{in_a_row} calls in a row named no tool that there is, the last {names[-1]!r}: "
            "declare what you run (runner.declare()), or tell the model otherwise"
        )


class TooManyModelCalls(OnrecordError):
    """The model was asked as often as it may be, and still calls tools; `code` is Camunda's word."""

    code = "MAXIMUM_NUMBER_OF_MODEL_CALLS_REACHED"

    def __init__(self, model_calls: int, limit: int) -> None:
        """Say how often, and how often it may be."""
        self.model_calls = model_calls
        self.limit = limit
        super().__init__(
            f"Maximum number of model calls reached (modelCalls: {model_calls}, limit: {limit})"
        )


class AnswerNotRecorded(OnrecordError):
    """The loop of an agent asked the model, and no answer was recorded on the main branch."""


class ApprovalNotAsked(OnrecordError):
    """No person is asked about that call: it is not open, or its tool needs no approval."""

    def __init__(self, asked: str = "about a call of that id") -> None:
        """Say what nobody is `asked`, and where those stand that somebody is asked about."""
        super().__init__(f"nobody is asked {asked}: `approvals` lists the calls")


class AlreadyDecided(OnrecordError):
    """The call was decided before, and each is decided once; `decision` is "granted" or "denied"."""

    def __init__(self, decision: str) -> None:
        """Say what was decided."""
        super().__init__(f"the call was {decision} before: who did it stands in the audit")
        self.decision = decision


class CallTakenOver(OnrecordError):
    """Another runner began these calls while this one made them; of two results the first one counts."""

    def __init__(self, call_ids: tuple[str, ...]) -> None:
        """Say what may have happened."""
        self.call_ids = call_ids
        super().__init__(
            f"another runner began {', '.join(map(repr, call_ids))} while this one made it, for the "
            "lease could not be renewed in time: the tool may have run twice"
        )


class NotRecorded(OnrecordError):
    """The prompt could not be made durable, so the call was not made."""


class ViewStopped(OnrecordError):
    """A view cannot be made anew before what stopped it is mended; the one that is read stays."""


class StorageError(OnrecordError):
    """The store cannot do what was asked."""


class StorageBusy(StorageError):
    """Another process holds the lock for too long: retry, or stop that process."""


class StorageFull(StorageError):
    """No room on the disk, or a size limit was reached; nothing of the append was kept."""


class StorageReadOnly(StorageError):
    """The file or the server takes no writes: check its permissions."""


class StorageUnavailable(StorageError):
    """The server or the file cannot be reached: check the URL and that it is up."""


class ForeignDatabase(StorageError):
    """The file or schema is not an Onrecord log; nothing was changed in it."""


class SchemaNewer(StorageError):
    """Written by a newer Onrecord: upgrade this one."""


class SchemaOlder(StorageError):
    """Written by an older Onrecord: run `onrecord migrate`."""


class SchemaUnreleased(StorageError):
    """Made by no release of Onrecord: what it holds cannot be read by one; begin a new store."""


class WrongNode(StorageError):
    """The log lies on another node of the Citus cluster: connect to that one, which is named."""


class UnsupportedFilesystem(StorageError):
    """The locks of this file system cannot be trusted: use a local disk, or PostgreSQL."""


class StaleCursor(StorageError):
    """The cursor belongs to another incarnation of the log: start again from its beginning."""


class CorruptRecord(StorageError):
    """Stored bytes do not match their digest or their format."""


# How messages speak, those of commands too.


def counted(count: int, noun: str) -> str:
    """Return a count and its noun: `1 event`, `1,024 events`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
