"""Submit a task with the client that openapi-generator made, and print its id."""

import os

import openapi_client
from openapi_client.models.batch_item_priority import BatchItemPriority

configuration = openapi_client.Configuration(host=os.environ["HUB"], access_token=os.environ["KEY"])
with openapi_client.ApiClient(configuration) as connection:
    task = openapi_client.TasksApi(connection).post_api_v1_tasks(
        openapi_client.Submission(
            input="by openapi-generator",
            type="generated",
            context={"a": [1]},
            priority=BatchItemPriority(7),
            requirements=openapi_client.Requirements(capabilities=["eyes"]),
        ),
        idempotency_key="by openapi-generator",
    )
    assert task.status == openapi_client.Status.QUEUED
    print(task.id)
