"""The list of what does not run on PostgreSQL names what there is."""

import ast
from pathlib import Path

from tests.acceptance.sqlite_only import SQLITE_ONLY


def test_every_test_that_is_named_exists() -> None:
    modules = [ast.parse(path.read_text()) for path in Path(__file__).parent.glob("test_*.py")]
    tests = {node.name for module in modules for node in module.body if isinstance(node, ast.FunctionDef)}
    assert SQLITE_ONLY.keys() <= tests
