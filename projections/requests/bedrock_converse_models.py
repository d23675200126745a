"""What differs between the models behind Bedrock's Converse API, by their ids.

`us.anthropic.claude-sonnet-4-5-20250929-v1:0` says whose model it is, which one, and from which
regions it may answer; so does the ARN of a model or of an inference profile that ends so. Which
files they read is data: projections/capabilities.toml.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_REGIONS: Final = re.compile(r"(?:us|eu|apac|jp|au|ca|sa|me|af|us-gov|global)\.")
_VENDOR: Final = re.compile(r"([a-z0-9]+)\.(.+)")

_OLD_CLAUDE: Final = re.compile(r"anthropic\.claude-(v2|instant)")


@dataclass(frozen=True, slots=True)
class Model:
    """The model that a request is for, as far as its id tells; empty words tell nothing.

    `name` begins with the vendor and says nothing of regions.
    """

    name: str
    vendor: str

    @property
    def reads_pages(self) -> bool:
        """Whether blocks may hold what a search found."""
        return self.vendor == "anthropic" and not _OLD_CLAUDE.match(self.name)

    @property
    def may_read_s3(self) -> bool:
        """Whether files may lie in S3: "This model doesn't support the s3Uri field." say others."""
        return self.vendor in ("amazon", "")

    @property
    def wants_results_alone(self) -> bool:
        """Whether a message with results holds nothing else."""
        return self.vendor in ("meta", "mistral")

    @property
    def wants_documents_apart(self) -> bool:
        """Whether a message with results holds no document and no video."""
        return self.vendor in ("anthropic", "")

    @property
    def may_answer_first(self) -> bool:
        """Whether a conversation may begin with the assistant."""
        return self.vendor in ("anthropic", "qwen")

    @property
    def takes_status(self) -> bool:
        """Whether a result may have a status; Writer's models refuse it."""
        return self.vendor != "writer"

    @property
    def reads_status(self) -> bool:
        """Whether the model learns of a status that a result failed (docs, "ToolResultBlock")."""
        return self.vendor in ("anthropic", "amazon", "")

    @property
    def takes_marks(self) -> bool:
        """Whether requests may have cache points."""
        return self.vendor in ("anthropic", "amazon", "")

    @property
    def takes_marked_tools(self) -> bool:
        """Whether a cache point may stand among the tools."""
        return self.vendor in ("anthropic", "")

    def is_kin(self, other: Model) -> bool:
        """Whether a model of the same vendor's made something; of an unknown one that is assumed."""
        return not self.vendor or not other.vendor or self.vendor == other.vendor


@lru_cache(maxsize=64)
def model_of(model_id: str | None) -> Model:
    """Return what is known of the model with an id, or an ARN that ends with one."""
    last = (model_id or "").rpartition("/")[2]
    region = _REGIONS.match(last)
    name = last[region.end() :] if region else last
    found = _VENDOR.match(name)
    # What names nobody, such as a profile of the caller's own, is at least itself.
    return Model(name or (model_id or ""), found.group(1) if found else "")
