"""The routes around the API: signing in and out, health, the API's own description."""

from typing import Any, Final

from taskyard.gateway.call import Empty
from taskyard.gateway.rest import metrics, pages, session
from taskyard.gateway.route import ADMIN, ANYONE, KEYED, OWNER, PUBLIC, Route, get
from taskyard.gateway.task_routes import V1
from taskyard.vocabulary import Refusal
from taskyard.wire.people import HealthAnswer, ShownKey, SignInLink

PAGE_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        method="POST",
        path=f"{V1}/session",
        policy=KEYED,
        handler=session.begin,
        summary="Sign a browser in with a key: a cookie that is worth what the key is",
        body=ShownKey,
        query=Empty,
        answer=None,
        status=204,
        refusals=(Refusal.UNAUTHENTICATED, Refusal.RATE_LIMITED),
    ),
    Route(
        method="POST",
        path=f"{V1}/session/link",
        policy=OWNER,
        handler=session.link,
        summary="A link that signs a browser in once, soon, and is worth what the key is",
        body=Empty,
        query=Empty,
        answer=SignInLink,
        status=201,
    ),
    Route(
        method="DELETE",
        path=f"{V1}/session",
        policy=ANYONE,
        handler=session.end,
        summary="Sign a browser out: its cookie is forgotten",
        body=Empty,
        query=Empty,
        answer=None,
        status=204,
    ),
    get(
        "/metrics",
        metrics.expose,
        policy=ADMIN,
        summary="The same figures for Prometheus, with histograms",
        query=Empty,
        answer=str,
        media_type="text/plain",
    ),
    get(
        "/healthz",
        pages.health,
        policy=PUBLIC,
        summary="The process answers",
        query=Empty,
        answer=HealthAnswer,
    ),
    get(
        "/readyz",
        pages.readiness,
        policy=PUBLIC,
        summary="The hub takes work",
        query=Empty,
        answer=HealthAnswer,
        refusals=(Refusal.STORE_UNAVAILABLE, Refusal.HUB_REWOUND),
    ),
    get(
        "/",
        pages.landing,
        policy=PUBLIC,
        summary="The dashboard; with a ticket, where a one-time link signs a browser in",
        query=pages.LandingQuery,
        answer=str,
        media_type="text/html",
    ),
    get(
        "/api/openapi.json",
        pages.openapi,
        policy=ANYONE,
        summary="This document",
        query=Empty,
        answer=dict[str, Any],
    ),
    get(
        "/api/docs",
        pages.docs,
        policy=ANYONE,
        summary="This document, for reading",
        query=Empty,
        answer=str,
        media_type="text/html",
    ),
)
