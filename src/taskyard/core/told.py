"""What commands are made of, whatever they are about."""

from msgspec import Struct


class Told(Struct, tag=True, tag_field="command", omit_defaults=True):
    """What every command is."""


class Keep(Struct, frozen=True):
    """In a change: leave this field as it is (None means: remove it)."""


KEEP = Keep()
