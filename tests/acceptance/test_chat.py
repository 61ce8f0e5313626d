"""Chat with a real hub: what somebody types, what is answered, and what the daemon then runs."""

from taskyard.sdk.client import Client
from tests.acceptance.guests import Guest
from tests.support.live import Said, taskyard
from tests.support.wire_client import WireClient

NO = 1


def say(guest: Guest, *words: str) -> Said:
    return taskyard("say", *words, "--hub", guest.url, "--key", guest.key)


def test_tasks_are_added_commanded_and_asked_about_in_two_languages(guest: Guest, client: Client) -> None:
    said = say(guest, "use qwen2.5 to analyse the sales data, then send to remote: write a report")
    assert said.code == 0, said.err
    assert "(queue local, model ollama/qwen2.5, position" in said.out
    assert said.out.endswith("(queue remote, model remote/qwen3.5, after T-001)\n")
    assert say(guest, "取消 T-002") == (0, "T-002 已取消\n", "")
    assert client.task("T-002").status == "cancelled"
    assert say(guest, "how are you?").code == NO


def test_what_is_said_is_run_in_its_order(guest: Guest, client: Client) -> None:
    # Given a daemon that runs whatever is said
    with WireClient("127.0.0.1", guest.port, guest.key, timeout_s=20) as daemon:
        daemon.hello(name="mac", max_concurrent_tasks=2)

        # When two things are said of which one comes after the other
        first, second = client.say("fetch the numbers, then plot them").tasks
        for summary in ("42 rows", "a chart"):
            order = daemon.receive("task.execute")
            this = {"task_id": order["task"]["id"], "attempt": order["attempt"]}
            daemon.send({"type": "task.accepted", **this}, {"type": "task.started", **this})
            daemon.send({"type": "task.completed", **this, "summary": summary})
            daemon.receive("ack")

        # Then the second is told what the first found, and both are done
        assert (order["task"]["input"], order["context_input"][0]["result_summary"]) == ("plot them", "42 rows")
        told = client.say(f"is {second.ref} done?").reply
        assert told.startswith(f"{second.ref} is done: a chart (queue default, after {first.ref}, took ")
        assert first.refresh().succeeded
