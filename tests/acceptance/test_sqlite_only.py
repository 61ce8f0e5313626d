"""The lists of what does not run on PostgreSQL, and of what runs with gateways, name what there is."""

import ast
from pathlib import Path

from tests.acceptance.sqlite_only import SQLITE_ONLY
from tests.acceptance.with_gateways import WITH_GATEWAYS


def test_every_test_that_is_named_exists() -> None:
    modules = [ast.parse(path.read_text()) for path in Path(__file__).parent.glob("test_*.py")]
    tests = {node.name for module in modules for node in module.body if isinstance(node, ast.FunctionDef)}
    assert SQLITE_ONLY.keys() | WITH_GATEWAYS <= tests
