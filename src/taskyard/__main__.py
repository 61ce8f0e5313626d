"""`python -m taskyard`: the same as the `taskyard` command."""

import sys

from taskyard.cli.main import run

sys.exit(run())
