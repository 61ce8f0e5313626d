"""Keeps what a program was trusted with out of what it leaves: agents print their environment when in doubt."""

from collections.abc import Mapping
from typing import Final

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.openai.secrets import Hider
from taskyard.daemon.task import Task

SECRET_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
OWN_KEY: Final = "TASKYARD_KEY"
"""Is not handed on; a program that runs as the daemon's owner may find it elsewhere."""


class Secrets:
    """Those of one attempt: keys among its variables, the token of its task, the daemon's own key."""

    def __init__(self, agent: Agent, task: Task, own: Mapping[str, str]) -> None:
        given = {**{name: own[name] for name in agent.inherit if name in own}, **agent.environment}
        values = [value for name, value in given.items() if any(word in name.upper() for word in SECRET_WORDS)]
        self._hiders = [Hider(value) for value in dict.fromkeys((*values, task.token, own.get(OWN_KEY, "")))]

    def hide(self, text: str) -> str:
        for hider in self._hiders:
            text = hider.hide(text)
        return text

    def hide_in(self, data: bytes) -> bytes:
        """The same in bytes that may be no text. Keys are ASCII, and each byte is one character of this code."""
        return self.hide(data.decode("latin-1")).encode("latin-1")
