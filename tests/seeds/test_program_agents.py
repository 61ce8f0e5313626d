"""What Loki and the queues by model source say of running an agent, with programs as agents."""

import pytest

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.failures import failure_of
from taskyard.daemon.command.placeholders import faults_in_command
from taskyard.daemon.command.readers import Printed, read_auto
from taskyard.daemon.process.launching import Exit
from taskyard.daemon.prompt import prompt_of
from taskyard.daemon.task import Task

AGENT = Agent(command=("agent",))


@pytest.mark.parametrize("words", ["rate limit", "error 429", "Too Many Requests", "quota exceeded", "retry-after: 5"])
def test_lokis_words_are_a_rate_limit_where_a_program_complains_and_nowhere_else(words: str) -> None:
    said = f"the provider says: {words}\n".encode()
    refused = failure_of(AGENT, Exit(code=1), read_auto(Printed(b"", said)), said)
    assert refused is not None
    assert refused.code == "RATE_LIMITED"

    failed = failure_of(AGENT, Exit(code=1), read_auto(Printed(said)), b"")
    assert failed is not None
    assert failed.code == "EXECUTION_ERROR"
    assert words not in failed.message

    assert failure_of(AGENT, Exit(code=0), read_auto(Printed(said)), said) is None


def test_a_subagent_is_told_its_task_its_goal_and_what_the_one_before_found() -> None:
    before = {"source_task": "t1", "ref": "T-001", "result_status": "success", "result_summary": "Three rivals."}
    prompt = prompt_of(
        Task(id="t2", input="Write the report", goal="One page", context_input=[before], model="claude/opus")
    )
    for part in ("Write the report", "One page", "T-001", "Three rivals."):
        assert part in prompt


def test_what_is_told_cannot_be_made_a_part_of_the_call() -> None:
    (fault,) = faults_in_command(("agent", "--task={input}"), has_flags=False)
    assert "must be an argument of its own" in fault
