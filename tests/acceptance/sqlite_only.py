"""The acceptance tests that do not run on PostgreSQL, each with what it is about instead."""

from collections.abc import Mapping
from typing import Final

SQLITE_ONLY: Final[Mapping[str, str]] = {
    "test_a_full_disk_refuses_new_work_loses_nothing_and_recovers_by_itself": "the disk of the hub, not of a server",
    "test_slow_heads_and_silent_sockets_are_closed_while_others_are_served": "the door, before anything is asked",
    "test_an_agent_that_runs_a_task_splits_it_reports_and_hands_in_its_result": "what a token opens",
    "test_what_agents_pull_is_done_once_although_the_hub_is_killed": "what a claim is to the core",
    "test_a_task_that_kills_its_daemon_is_parked_and_twenty_bystanders_lose_no_attempt": "the daemon's machine",
    "test_what_an_engine_was_given_is_in_the_yard_once_whatever_is_killed": "the disk of the engine, not of the hub",
    "test_an_agent_works_on_while_its_daemon_is_dead_and_is_taken_up_by_the_next": "the daemon",
    "test_what_a_laptop_finished_after_its_sleep_is_taken_if_nothing_newer_was_sent": "the daemon, and the core",
    "test_what_a_laptop_finished_after_its_sleep_is_kept_as_late_if_another_took_over": "the daemon, and the core",
    "test_the_shell_agent_does_tasks_tells_failures_and_stops_what_was_cancelled": "a shell at the door",
    "test_the_shell_agent_says_why_it_is_refused_and_leaves": "a shell at the door",
    "test_nothing_is_left_of_a_function_in_a_process_when_it_is_cancelled_or_its_daemon_killed": "the daemon",
    "test_a_daemon_reads_its_file_anew_while_its_agents_work": "the daemon's file",
}
