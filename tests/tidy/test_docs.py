"""What the pages say that the code also knows: each such thing is compared, so that neither can drift."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from typer.testing import CliRunner

from taskyard.cli.main import app
from taskyard.hub.settings import FileSettings
from taskyard.vocabulary.notices import NoticeName
from tools import http_page, openapi, why_page

ROOT: Final = Path(__file__).resolve().parents[2]
LINE_CHARS_MAX: Final = 150

PAGES: Final = sorted(
    [*ROOT.glob("*.md"), *(path for folder in ("docs", "bench", "src") for path in (ROOT / folder).rglob("*.md"))]
)
ROW: Final = re.compile(r"^\| `([a-z_.<>]+)` \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\(([^)#]+)[^)]*\)")
PLACE: Final = re.compile(r"\]\(((?:[\w./-]+\.md)?)#([^)]+)\)")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- pages that are made -----------------------------------------------------------------------------------


def test_the_page_about_http_has_every_route() -> None:
    said = http_page.PAGE.read_text()
    missing = [
        f"{route.method} {route.path}" for route in http_page.DESCRIBED if f"{route.method} {route.path}`" not in said
    ]
    assert missing == []


def test_the_page_about_http_is_the_route_table() -> None:
    assert http_page.PAGE.read_text() == http_page.page(), "run make docs"


def test_the_openapi_document_is_the_route_table() -> None:
    assert openapi.PAGE.read_text() == openapi.page(), "run make docs"


def test_the_page_about_why_is_the_table_of_sentences() -> None:
    assert why_page.PAGE.read_text() == why_page.page(), "run make docs"


# --- settings ----------------------------------------------------------------------------------------------


def settings_of(kind: Any, place: str = "", of: Any = None) -> Iterator[tuple[str, str]]:
    """Each setting's name and default, as the table writes them; of sections by name, each that is built in."""
    for field in msgspec.structs.fields(kind):
        name, default = f"{place}{field.name}", default_of(field) if of is None else getattr(of, field.name)
        inner = struct_in(field.type)
        if not isinstance(default, dict):
            yield from [(name, written_as(default))] if inner is None else settings_of(inner, f"{name}.", default)
        elif inner is None:
            yield from ((f"{name}.{key}", written_as(value)) for key, value in default.items())
        else:
            for key, value in (default or {"<name>": None}).items():
                yield from settings_of(inner, f"{name}.{key}.", value)


def struct_in(type_: Any) -> Any:
    """The section that a field holds, if it holds one: itself, or one by name, or maybe none."""
    candidates = (type_, *getattr(type_, "__args__", ()))
    return next((one for one in candidates if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)


REQUIRED: Final = object()


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    if field.required:
        return REQUIRED
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def written_as(default: Any) -> str:
    if default is REQUIRED or default is None:
        return "none" if default is None else "required"
    return f"`{msgspec.json.encode(default).decode()}`".replace('","', '", "')


def test_the_page_about_operating_lists_every_setting_with_its_default() -> None:
    _, _, section = (ROOT / "docs" / "operating.md").read_text().partition("## Settings")
    written = dict(ROW.findall(section.partition("\n## ")[0]))
    assert written == dict(settings_of(FileSettings, of=FileSettings()))


def test_the_page_about_notifications_names_every_event_that_can_be_told() -> None:
    _, _, section = (ROOT / "docs" / "notifications.md").read_text().partition("## What is told")
    assert set(re.findall(r"`([a-z_]+)`", section.partition("```")[0])) == set(NoticeName)


# --- commands ----------------------------------------------------------------------------------------------


def commands_in(page: Path) -> Iterator[list[str]]:
    """The words of each `taskyard …` in a page's shell blocks, without what surrounds it."""
    for block in BLOCK.findall(page.read_text()):
        for found in re.finditer(r"(?<!from )\btaskyard ([a-z][^\n|&;)]*)", block):
            yield shlex.split(found[1], comments=True)


def complaint_about(words: list[str]) -> str | None:
    """What the command line says of these words; with `--help` it reads them all and does nothing."""
    # What stands behind `--` is not read as options.
    end = words.index("--") if "--" in words else len(words)
    answer = CliRunner().invoke(app, [*words[:end], "--help", *words[end:]])
    return None if answer.exit_code == 0 else answer.output


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_that_is_printed_can_be_typed(page: Path) -> None:
    wrong = {" ".join(words): said for words in commands_in(page) if (said := complaint_about(words)) is not None}
    assert not wrong


# --- reading -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_line_fits_a_window(page: Path) -> None:
    """But for rows of a table, which cannot be broken."""
    lines = enumerate(page.read_text().splitlines(), 1)
    long = [number for number, line in lines if len(line) > LINE_CHARS_MAX and not line.startswith("|")]
    assert not long, f"at most {LINE_CHARS_MAX} characters: lines {long}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    broken = [target for target in targets if not (page.parent / target).exists()]
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_into_a_page_leads_to_a_heading(page: Path) -> None:
    places = [(page.parent / target if target else page, place) for target, place in PLACE.findall(page.read_text())]
    broken = [f"{path.name}#{place}" for path, place in places if place not in headings_of(path)]
    assert not broken


def headings_of(page: Path) -> set[str]:
    """As they stand in an address: small letters, hyphens for spaces, nothing else but letters and digits."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
