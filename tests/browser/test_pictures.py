"""The documents' pictures are one drawing and the command's output: each small, each with words."""

import re
import struct

import pytest

from tests.browser.pictures import FOLDER, LARGEST_BYTES, LIVE, REVIEWED
from tests.browser.viewer import ROOT, Screen

SHOTS = {**LIVE, **REVIEWED}
IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)")
SHOWING = {page: IMAGE.findall(page.read_text()) for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))}
# Drawn by hand; the README shows it first.
DRAWING = ROOT / "docs" / "architecture.svg"


def test_the_pictures_are_exactly_those_that_the_command_makes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(SHOTS)


@pytest.mark.parametrize(("name", "screen"), SHOTS.items(), ids=SHOTS)
def test_a_picture_is_its_window_and_small(name: str, screen: Screen) -> None:
    picture = (FOLDER / name).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (screen.width, screen.height)
    assert len(picture) <= LARGEST_BYTES


def test_every_picture_is_shown_and_said_in_words() -> None:
    shown = {(document.parent / path).resolve() for document, images in SHOWING.items() for _, path in images}
    assert shown == {DRAWING, *(FOLDER / name for name in SHOTS)}
    assert [alt for images in SHOWING.values() for alt, _ in images if len(alt.split()) < 5] == []


def test_the_readme_shows_drawing_live_page_and_review() -> None:
    paths = [ROOT / path for _, path in SHOWING[ROOT / "README.md"]]
    assert paths == [DRAWING, FOLDER / "live-page.png", *(FOLDER / name for name in REVIEWED)]


def test_the_drawing_brings_all_that_it_shows() -> None:
    drawing = DRAWING.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert re.findall(r"https?:|@import|@font-face|<image|<script", drawing) == []
