"""Whoever decides about a call over HTTP may name the question, and then decides no later call."""

from pathlib import Path

import onrecord
from tests.adapters.service.served import served
from tests.adapters.tools.conversations import call_again

KEY = "a"
CALL = f"/v1/conversations/{KEY}/calls/id_pay"


def test_a_question_is_listed_and_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with served(url) as service, onrecord.connect(url, actor="ana") as store:
        chat = store.conversation(KEY)
        tool = onrecord.tool(lambda: 1, name="pay", needs_approval=True)
        runner = onrecord.ToolRunner(chat, [tool])
        questions = list[str]()
        for _ in range(2):
            call_again(chat, "pay")
            runner.run()
            listed = service.ask("GET", f"/v1/conversations/{KEY}/approvals").json()["approvals"]
            questions.append(listed[-1]["question"])
        old, new = questions
        for verb in ("approve", "deny"):
            refused = service.ask("POST", f"{CALL}/{verb}", {"reason": "no", "question": old})
            assert refused.status == 409
            assert refused.json()["type"] == "/problems/approval-not-asked"
            assert f"has question {new}" in refused.json()["detail"]
            wrong = service.ask("POST", f"{CALL}/{verb}", {"reason": "no", "question": "three"})
            assert wrong.status == 422
        headers = {"onrecord-actor": "ben"}
        body = {"reason": "no", "question": new}
        done = service.ask("POST", f"{CALL}/deny", body, headers=headers)
        assert (done.status, done.json()["first"]) == (201, chat.head().version)
        late = service.ask("POST", f"{CALL}/approve", {"question": new}, headers=headers)
        assert late.json()["type"] == "/problems/already-decided"
        assert chat.open_calls() == []
