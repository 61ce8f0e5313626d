"""The routes of templates; `routes.py` has the others."""

from typing import Any, Final

from taskyard.gateway.call import Empty, OfUser
from taskyard.gateway.rest import templates
from taskyard.gateway.route import OWNER, Route, get
from taskyard.gateway.task_routes import V1
from taskyard.vocabulary import Refusal
from taskyard.wire.tasks import OkAnswer
from taskyard.wire.templates import NewTemplate, TemplateAnswer, TemplateChange

NO_TEMPLATE: Final = (Refusal.TEMPLATE_NOT_FOUND,)

TEMPLATE_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get(
        f"{V1}/templates",
        templates.list_templates,
        policy=OWNER,
        summary="One's templates of tasks, by name",
        query=OfUser,
        answer=list[TemplateAnswer],
    ),
    Route(
        method="POST",
        path=f"{V1}/templates",
        policy=OWNER,
        handler=templates.create,
        summary="A new template of a task",
        description=(
            "A submission names it in `template`, and in `set` what is to stand in the place of each `{{key}}`; what "
            "else the submission says takes the place of the template's field."
        ),
        body=NewTemplate,
        query=OfUser,
        answer=TemplateAnswer,
        status=201,
        refusals=(Refusal.NAME_TAKEN, Refusal.TOO_MANY_TEMPLATES),
    ),
    get(
        f"{V1}/templates/{{id}}",
        templates.show,
        policy=OWNER,
        summary="One template, by its name",
        query=OfUser,
        answer=TemplateAnswer,
        refusals=NO_TEMPLATE,
    ),
    Route(
        method="PUT",
        path=f"{V1}/templates/{{id}}",
        policy=OWNER,
        handler=templates.put,
        summary="Make a template of this name, or change the one there is",
        description="Tasks, schedules and webhooks that were made from it before stay as they are.",
        body=TemplateChange,
        query=OfUser,
        answer=TemplateAnswer,
        refusals=(Refusal.TOO_MANY_TEMPLATES,),
    ),
    Route(
        method="DELETE",
        path=f"{V1}/templates/{{id}}",
        policy=OWNER,
        handler=templates.delete,
        summary="Remove a template; what was made from it stays",
        body=Empty,
        query=OfUser,
        answer=OkAnswer,
        refusals=NO_TEMPLATE,
    ),
)
