"""Clients read answers with types of their own; no field of the wire may be missing there."""

from typing import Any

import msgspec
import pytest

from taskyard.sdk import answers, records
from taskyard.sdk.requests import Batch
from taskyard.wire import breakers, claims, hubs, intake, metrics, people, plans, queues, tasks, why


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (tasks.TaskAnswer, answers.TaskRecord),
        (tasks.SourceAnswer, answers.Source),
        (tasks.RequirementsAnswer, answers.Requirements),
        (tasks.ExecutionAnswer, answers.Execution),
        (tasks.ErrorAnswer, answers.TaskError),
        (tasks.AttemptAnswer, answers.Attempt),
        (tasks.ProgressAnswer, answers.Progress),
        (tasks.Pattern, answers.Pattern),
        (tasks.Rejected, answers.Rejected),
        (tasks.BatchAnswer, Batch),
        (intake.IntakeAnswer, answers.Said),
        (intake.CommandAnswer, answers.ChatCommand),
        (intake.ParsedTaskAnswer, answers.ParsedTask),
        (tasks.CancelAnswer, answers.Cancellation),
        (tasks.OkAnswer, answers.Acknowledged),
        (tasks.EventAnswer, answers.Event),
        (tasks.LogAnswer, answers.LogLine),
        (why.WhyAnswer, answers.Why),
        (why.ReasonAnswer, answers.WhyReason),
        (why.ConsideredAnswer, answers.WhyDaemon),
        (why.LackAnswer, answers.WhyLack),
        (why.OverviewAnswer, answers.Overview),
        (why.ShareAnswer, answers.QueueShare),
        (why.HeldAnswer, answers.HeldBack),
        (people.UserAnswer, records.UserRecord),
        (people.MeAnswer, records.Me),
        (people.KeyAnswer, records.KeyRecord),
        (people.IssuedKey, records.KeyRecord),
        (people.PatternReviewAnswer, answers.PatternReview),
        (people.AuditAnswer, records.AuditEntry),
        (people.RunningAnswer, records.RunningTask),
        (people.DaemonAnswer, records.DaemonRecord),
        (claims.ClaimAnswer, answers.Claimed),
        (hubs.HubAnswer, records.HubRecord),
        (queues.QueueAnswer, records.QueueRecord),
        (breakers.BreakerAnswer, records.BreakerRecord),
        (metrics.MetricsAnswer, records.Metrics),
        (plans.PlanAnswer, records.PlanRecord),
        (plans.LimitsAnswer, records.Limits),
        (plans.QueueStatusAnswer, records.QueueStatus),
    ],
)
def test_every_field_of_the_wire_is_read(sent: type[Any], read: type[Any]) -> None:
    on_the_wire = {field.encode_name for field in msgspec.structs.fields(sent)}
    understood = {field.encode_name for field in msgspec.structs.fields(read)}
    assert on_the_wire <= understood, f"missing in {read.__name__}: {sorted(on_the_wire - understood)}"
