"""Writes the page: one body, in self-contained HTML, and in Markdown for a pull request; and the terminal's summary."""

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from operate.review import network
from operate.review.page import Page

TEMPLATES = Path(__file__).with_name("templates")
# Characters with a meaning in a Markdown table's cell.
_MARKDOWN = re.compile(r"([\\|*<>\[\]]|(?<!\w)_|_(?!\w))")
# Where a browser may break a path; not at the end of an HTML tag or character reference.
_BREAKS = re.compile(r"([/:]|(?<=[a-z])(?=[A-Z]))(?=\w)")
Format = Literal["html", "md"]
WIDTH = 120
INDENT = 35


def render(page: Page, kind: Format) -> str:
    """Write the page in one format. Raises OperateError for HTML where Graphviz isn't installed."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"markdown": _markdown, "code": _code, "svg": network.svg}
    text = environment.get_template(f"page.{kind}.j2").render(page=page)
    return re.sub(r"\n{3,}", "\n\n", text) + "\n"


def write(page: Page, folder: Path) -> list[Path]:
    """Write both files into a folder, named after the environment."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds: tuple[Format, ...] = ("html", "md")
    paths = [folder / f"{page.environment.name}.{kind}" for kind in kinds]
    for path, kind in zip(paths, kinds, strict=True):
        path.write_text(render(page, kind), encoding="utf-8")
    return paths


def _markdown(text: object) -> Markup:
    """Write a value literally, in one line; `code` stays code."""
    parts = str(text).replace("\n", " ").split("`")
    parts[::2] = [_MARKDOWN.sub(r"\\\1", part) for part in parts[::2]]
    # Escape HTML by hand, as Markdown does.
    return Markup("`".join(parts))  # noqa: S704


def _code(text: object) -> Markup:
    """Write `code` as HTML; paths may break."""
    parts = [str(escape(part)) for part in str(text).split("`")]
    parts[::2] = [_BREAKS.sub(r"\1<wbr>", part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return Markup("".join(parts))  # noqa: S704


def summary(page: Page, paths: Iterable[Path]) -> str:
    """Write what is found and what matters."""
    rows = [f"{question + ':':<{INDENT}}{'; '.join(answers)}" for question, answers in page.verdict.rows]
    wrap = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * INDENT, break_on_hyphens=False, break_long_words=False)
    found = [f"  {each.level}: {each.rule}: {', '.join(each.where)}: {each.what}" for each in page.verdict.facts]
    return "\n".join(
        [
            f"{page.environment.prefix}: account {page.environment.account}, {page.environment.region}",
            page.verdict.words,
            *found,
            "",
            *map(wrap.fill, rows),
            "",
            f"For a decision, read {' or '.join(map(str, paths))}",
        ]
    )
