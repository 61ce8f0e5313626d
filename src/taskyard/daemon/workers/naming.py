"""Where a function is, so that another process finds it: by name, since code does not travel.

A worker imports the module of the function again, also if that is the program that runs the daemon. There the program
has another name than `__main__`, and its daemon serves nothing.
"""

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

PROGRAM: Final = "__taskyard_program__"
"""The name of the daemon's program in a worker."""


class Place(Struct, frozen=True):
    module: str
    name: str
    path: str | None = None
    """Of the program, if the function is in it and it is no module."""


class Here:
    """What this process is."""

    is_worker = False


def place_of(function: Callable[..., Any]) -> Place:
    """Raises `TypeError` for what cannot be found by name."""
    name = getattr(function, "__qualname__", "")
    if not inspect.isfunction(function) or "<" in name:
        raise TypeError(
            f"{function!r} cannot run in a process of its own: it must be a function of a module, "
            "neither a lambda nor one inside another function"
        )
    if function.__module__ not in ("__main__", PROGRAM):
        return Place(function.__module__, name)
    program = sys.modules["__main__"]
    spec = getattr(program, "__spec__", None)
    if spec is not None:
        return Place(spec.name, name)
    path = getattr(program, "__file__", None)
    if path is None:
        raise TypeError(f"{function!r} cannot run in a process of its own: its program is not in a file")
    return Place(PROGRAM, name, os.path.abspath(path))


def function_at(place: Place) -> Callable[..., Any]:
    """In a worker. Raises whatever the module raises, and `AttributeError` if it has no such function."""
    found: Any = _module(place)
    for part in place.name.split("."):
        found = getattr(found, part)
    assert callable(found), "a function was there when its daemon looked"
    return found  # type: ignore[no-any-return]


def _module(place: Place) -> ModuleType:
    if place.path is None or place.module in sys.modules:
        return importlib.import_module(place.module)
    spec = importlib.util.spec_from_file_location(place.module, place.path)
    assert spec is not None, "a program is a file of Python"
    assert spec.loader is not None, "a file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[place.module] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:  # as everywhere in Python, half a module is none
        del sys.modules[place.module]
        raise
    return module
