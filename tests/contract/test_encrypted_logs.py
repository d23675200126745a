"""What holds of any log holds of an encrypted one: some rules of the suite, through `EncryptedLog`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onrecord.domain.log import Backend
from tests.contract import test_append as append
from tests.contract import test_erasure as erasure
from tests.contract import test_reading as reading
from tests.contract.encrypted_places import encrypted
from tests.contract.places import PLACES
from tests.postgres_places import POSTGRES_PLACES

RULES: list[Callable[[Backend], None]] = [
    append.test_events_get_dense_versions_and_positions,
    append.test_a_retry_is_a_duplicate_whatever_version_it_expected,
    append.test_an_id_that_stands_for_another_body_is_a_mismatch,
    append.test_each_request_of_a_batch_is_told_what_became_of_it_alone,
    append.test_a_request_of_which_only_a_part_is_known_is_a_mismatch,
    append.test_a_message_id_is_recorded_once_under_any_event_id,
    append.test_a_result_recorded_twice_changes_nothing,
    erasure.test_bodies_and_salts_go_and_leaves_still_verify,
    erasure.test_an_erased_event_counts_as_the_same_content,
    reading.test_the_first_events_of_several_conversations_come_at_one_go,
    reading.test_an_exchange_starts_at_its_first_prompt_not_at_one_amid_a_round,
    reading.test_one_read_tells_where_a_conversation_stands_and_what_came_since,
]


@pytest.fixture(params=["memory", "sqlite", max(POSTGRES_PLACES)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    place = encrypted(PLACES[request.param])(tmp_path)
    opened = place.open()
    yield opened
    opened.close()
    place.remove()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_of_any_log_holds(rule: Callable[[Backend], None], backend: Backend) -> None:
    rule(backend)
