"""The routes by which tasks come from and go to other places, and by which one hears what became of them."""

from typing import Any, Final

from taskyard.gateway.call import OfUser
from taskyard.gateway.rest import imports, report
from taskyard.gateway.route import OWNER, Route, get
from taskyard.gateway.task_routes import V1
from taskyard.vocabulary import Refusal
from taskyard.wire.imports import Import, ImportAnswer
from taskyard.wire.report import ReportAnswer
from taskyard.wire.tasks import TaskAnswer

EXCHANGE_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        method="POST",
        path=f"{V1}/import",
        policy=OWNER,
        handler=imports.take_in,
        summary="Take in tasks that stood elsewhere, up to 1,000 at a time, all or none; again changes nothing",
        body=Import,
        query=OfUser,
        answer=ImportAnswer,
        is_batch=True,
        refusals=(
            Refusal.DEPENDENCY_NOT_FOUND,
            Refusal.DEPENDENCY_CYCLE,
            Refusal.MODEL_NOT_ROUTED,
            Refusal.QUEUE_NOT_FOUND,
            Refusal.USER_NOT_FOUND,
            Refusal.TOO_MANY_PENDING,
        ),
    ),
    get(
        f"{V1}/report",
        report.show,
        policy=OWNER,
        summary="What happened since: done, failed, waiting, hours used, what needs a person",
        query=report.ReportQuery,
        answer=ReportAnswer,
        refusals=(Refusal.USER_NOT_FOUND,),
    ),
    get(
        f"{V1}/export",
        imports.give_out,
        policy=OWNER,
        summary="One's tasks in full with all that became of them, page by page",
        query=imports.ExportQuery,
        answer=list[TaskAnswer],
        refusals=(Refusal.USER_NOT_FOUND,),
    ),
)
