"""Builds the dashboard into the package, for wheels, editable installs and source archives alike.

All of it is in `tools/web.py`, which `make web` runs too; this only tells the builder. An archive carries the built
files with the digest of their sources, so that installing it needs no Node.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tools import web


class DashboardHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return web.node_requirements()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Without Node or its packages the rest is still worth installing; sources that do not build are a mistake."""
        try:
            web.build()
        except web.CannotBuild as lacking:
            self.app.display_warning(str(lacking))
