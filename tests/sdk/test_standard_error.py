"""Telling what happens to somebody who may not be there any more."""

import os
import sys

import pytest

from taskyard.sdk.standard_error import tell


def test_without_a_standard_error_nothing_is_told_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    # As Python has it when whoever started us closed it
    monkeypatch.setattr(sys, "stderr", None)
    tell("taskyard: nobody hears this\n")


def test_what_nobody_reads_any_more_is_dropped_and_what_follows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        tell("taskyard: nobody reads this\n")
        tell("nor this\n")
        assert os.fstat(stream.fileno()).st_rdev == os.stat(os.devnull).st_rdev


def test_what_is_told_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb", buffering=0) as other_end:
        monkeypatch.setattr(sys, "stderr", stream)
        tell("taskyard: up\n")
        assert other_end.read(100) == b"taskyard: up\n"
