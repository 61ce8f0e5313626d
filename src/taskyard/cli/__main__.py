"""`python -m taskyard.cli`: the same as the `taskyard` command, for where that is not on the path."""

import sys

from taskyard.cli.main import run

sys.exit(run())
