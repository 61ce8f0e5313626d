"""Submit a task with the client that openapi-python-client made, and print its id."""

import os

from taskyard_client import AuthenticatedClient
from taskyard_client.api.tasks import post_api_v1_tasks
from taskyard_client.models import Requirements, Status, Submission, SubmissionContextType0, TaskAnswer

client = AuthenticatedClient(base_url=os.environ["HUB"], token=os.environ["KEY"])
task = post_api_v1_tasks.sync(
    client=client,
    body=Submission(
        input_="by openapi-python-client",
        type_="generated",
        context=SubmissionContextType0.from_dict({"a": [1]}),
        priority=7,
        requirements=Requirements(capabilities=["eyes"]),
    ),
    idempotency_key="by openapi-python-client",
)
assert isinstance(task, TaskAnswer)
assert task.status == Status.QUEUED
print(task.id)
