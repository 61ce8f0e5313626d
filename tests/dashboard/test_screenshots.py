"""The pictures of the documentation can be made, and show something."""

import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.dashboard.demo import Demo
from tests.dashboard.screenshots import BYTES_MAX, LOOKS, ON_A_PHONE, SHOWN, pictures

pytestmark = [pytest.mark.slow, pytest.mark.takes(15)]


def colours_in(picture: Path) -> int:
    """How many of its 256 colours a picture uses; that of an empty page has a handful."""
    content, at, packed = picture.read_bytes(), 8, b""
    while at < len(content):
        size, kind = int.from_bytes(content[at : at + 4]), content[at + 4 : at + 8]
        packed += content[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return len(set(zlib.decompress(packed)))


def test_every_picture_shows_a_page(tmp_path: Path, browser: Browser, demo: Demo) -> None:
    # The light ones are taken in the same way, and would only take time.
    made = list(pictures(demo, browser, tmp_path / "images", [look for look in LOOKS if look.name != "light"]))
    assert len(made) == len(SHOWN) + len(ON_A_PHONE)
    assert [picture.name for picture in made if picture.stat().st_size > BYTES_MAX] == []
    assert [picture.name for picture in made if colours_in(picture) < 50] == []
