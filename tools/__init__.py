"""Programs for those who work on Taskyard. None of them is part of the package."""
