"""Writes docs/openapi.json from the route table: the dashboard's types are generated from it without a running hub.

`tests/tidy` fails while the document and the table differ; `make docs` writes it again.
"""

import json
from pathlib import Path
from typing import Final

from taskyard.gateway.openapi import document
from taskyard.gateway.routes import ROUTES

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"


def page() -> str:
    """Indented and sorted, so that a change of one route is a small difference."""
    return json.dumps(document(ROUTES), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
