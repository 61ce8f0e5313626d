"""The acceptance tests that run in a hub with gateways too: what passes through a gateway, and what outlives one."""

from typing import Final

WITH_GATEWAYS: Final = frozenset(
    {
        "test_submit_wait_prints_the_answer_and_nothing_else",
        "test_a_second_hub_on_the_same_data",
        "test_a_reader_that_is_cut_off_and_whose_hub_dies_misses_and_repeats_nothing",
        "test_as_many_tasks_as_keys",
        "test_two_hundred_deliveries_of_one_at_once_are_one_task_also_if_the_hub_is_killed",
        "test_an_agent_that_runs_a_task_splits_it_reports_and_hands_in_its_result",
        "test_directories_of_other_queues_come_in_whole_and_once",
        "test_tasks_are_commanded_and_asked_about_in_chinese",
        "test_nobody_is_left_of_twelve_hostile_children",
        "test_what_an_attempt_saved_reaches_the_next_one",
        "test_an_agent_works_on_while_its_daemon_is_dead_and_is_taken_up_by_the_next",
        "test_models_do_the_tasks_of_another_user_and_an_attempt_hears_of_the_one_before",
    }
)
