"""What somebody reads on a terminal once a log was moved."""

from uuid import UUID

import pytest

from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.move_listings import write_bound, write_moved
from onrecord.adapters.transfer.moving import TenantMove
from onrecord.domain.operators import LogMoved
from tests.factories import TENANT

AT = 1_795_000_000_000_001
MOMENT = "2026-11-18 11:06:40Z"


def bound(tenant: UUID) -> LogMoved:
    return LogMoved.model_construct(tenant=tenant, events=8, at=AT)


@pytest.mark.parametrize(
    ("tenant", "whose"), [(NO_TENANT, ""), (TENANT, f" of the tenant {TENANT}")]
)
def test_a_store_of_one_party_names_no_tenant(
    tenant: UUID, whose: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "is_drawn", lambda: True)
    write_moved([TenantMove(tenant)], as_json=False)
    write_moved([TenantMove(tenant)], as_json=False, is_plan=True)
    write_bound([bound(tenant)], as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        f"0 conversations{whose}, 0 events: 0 new.",
        f"0 conversations{whose}, 0 events: 0 would be new.",
        f"8 events{whose}, moved at {MOMENT}: the same in both logs.",
    ]


def test_what_is_piped_names_the_tenant_and_the_time_in_full(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fact = bound(NO_TENANT).model_copy(update={"pairs": "ab"})
    write_bound([fact], as_json=False)
    assert capsys.readouterr().out == f"{NO_TENANT}\t8\tab\t2026-11-18T11:06:40.000001Z\n"
