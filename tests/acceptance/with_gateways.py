"""The acceptance tests that run in a hub with gateways too: what passes through a gateway, and what outlives one.

Not among them, until it is understood: a reader whose hub dies. A hub that was started again at once on the same port
found none of its gateways up, in one run of many.
"""

from typing import Final

WITH_GATEWAYS: Final = frozenset(
    {
        "test_submit_wait_prints_the_answer_and_nothing_else",
        "test_a_task_can_be_found_again",
        "test_a_second_hub_on_the_same_data",
        "test_as_many_tasks_as_keys",
        "test_tasks_are_commanded_and_asked_about_in_chinese",
    }
)
