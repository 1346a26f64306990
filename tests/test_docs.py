"""The documents match the project: commands, files, decisions, and no word of any one machine."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.__main__ import ORDER
from tests.transcripts import transcript

ROOT = Path(__file__).resolve().parents[1]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
# What people read: pages, and comments and docstrings of everything that runs.
TEXTS = [name for name in TRACKED if re.search(r"\.(md|py|sql|toml|yaml|properties|sh|java|in)$|Makefile$", name)]
HERE = "tests/test_docs.py"
MADE_BY_READERS = {"build/review/prod.md", "pipelines/mine.toml", "pipelines/shop.toml", "pipelines/NAME.toml"}
DOCUMENTS = [ROOT / name for name in TRACKED if name.endswith(".md")]
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def anchors(document: Path) -> set[str]:
    """A page's anchors on GitHub: headings in lower case, blanks as hyphens, word characters only; a module's tests."""
    if document.suffix == ".py":
        return set(re.findall(r"^def (test_\w+)", document.read_text(), re.MULTILINE))
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_make_target_is_documented() -> None:
    text = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    assert {target for target in TARGETS if f"make {target}" not in text} == set()


def test_every_link_to_a_file_leads_somewhere() -> None:
    broken = []
    for document in DOCUMENTS:
        text = re.sub(r"`[^`]*`", "", document.read_text())
        for path, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#]*)(?:#([^)]+))?\)", text):
            target = document.parent / path if path else document
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append((str(document), path, anchor))
    assert broken == []


def found(pattern: str, names: list[str], *, without: str = r"\Z.") -> list[tuple[str, str]]:
    """Return file and match wherever the pattern occurs, after removing matches of `without`."""
    kept = [(name, re.sub(without, "", (ROOT / name).read_text())) for name in names if (ROOT / name).is_file()]
    return [(name, match[0]) for name, text in kept for match in re.finditer(pattern, text)]


def test_no_placeholder_is_left() -> None:
    assert found(r"@@\w+@@|\bTODO\b|\bFIXME\b|\bTBD\b", [name for name in TEXTS if name != HERE]) == []


def test_documents_name_no_path_outside_the_repository() -> None:
    pages = [name for name in TEXTS if name.endswith(".md")]
    assert found(r"(?<![\w.])/(?:home|Users|root|tmp|work|workspace)/", pages) == []
    climbing = [(name, path) for name, path in found(r"(?<![\w./])(?:\.\./)+[\w./-]*", pages)]
    assert [
        (n, path) for n, path in climbing if not (ROOT / n).parent.joinpath(path).resolve().is_relative_to(ROOT)
    ] == []


def test_documents_name_no_page_or_module_that_is_not_there() -> None:
    pages = [name for name in TEXTS if name.endswith(".md")]
    named = found(
        r"(?<![\w./<*@:-])[\w-]+(?:/[\w.-]+)*\.(?:md|py|sql|toml)\b(?!\.?[\w/-])", pages, without=r"\]\([^)]*\)"
    )
    there = {"/" + name for name in TRACKED}
    missing = [(name, path) for name, path in named if not any(other.endswith(f"/{path}") for other in there)]
    assert [(name, path) for name, path in missing if "NNNN" not in path and path not in MADE_BY_READERS] == []


def test_what_the_system_comes_from_is_named_in_the_readme_alone() -> None:
    """Elsewhere "the text" means nothing to a reader: say what is meant, or link the README's section."""
    origin = (
        r"\b[Tt]he texts?'s?\b|\b[Tt]he texts\b|\boriginal (?:text|article)|\b[Tt]he (?:article|tutorial|blog post)s?\b"
    )
    origin += r"|\b(?:in|of|as) the text\b(?! (?:that|format))"
    assert found(origin, [name for name in TEXTS if name not in {HERE, "README.md"}]) == []
    linked = "(../../README.md#where-it-comes-from)", "(../README.md#where-it-comes-from)", "README's series"
    speaking = {
        name for name, _ in found(r"\b[Tt]he series\b", [name for name in TEXTS if name not in {HERE, "README.md"}])
    }
    assert {name for name in speaking if not any(link in (ROOT / name).read_text() for link in linked)} == set()


def test_start_shows_every_part_of_the_tests() -> None:
    shown = transcript(ROOT / "docs" / "start.md", "make test")
    assert re.findall(r"^(\w+) +[\d.…]+ +[\d.…]+", shown, re.MULTILINE) == [*ORDER, "all"]


def test_documents_stay_short() -> None:
    for pages, most in (([ROOT / "README.md"], 1_200), (DOCUMENTS, 50_000)):
        assert sum(len(page.read_text().split()) for page in pages) <= most


FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
NUMBERS = {page.name[:4] for page in PAGES}
# Below the title: the date of the first version, and whether it holds.
HEAD = re.compile(
    r"# (?P<number>\d{4}) (?P<title>.+)\n\n"
    r"Date: (?P<date>\d{4}-\d{2}-\d{2})\. Status: (?P<status>accepted|superseded by \[\d{4}\]\([\w-]+\.md\))\.\n\n## "
)
WIDTH = 120


def problems(page: Path) -> Iterator[str]:
    text = page.read_text()
    if not (head := HEAD.match(text)) or head["number"] != page.name[:4]:
        yield "begins with `# NNNN title`, a blank line, `Date: YYYY-MM-DD. Status: accepted.`, a blank line"
    if re.findall(r"^## (.+)$", text, re.MULTILINE) != ["Context", "Decision", "Consequences"]:
        yield "has the sections Context, Decision, Consequences"
    long = [number for number, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH]
    if long:
        yield f"has no line of more than {WIDTH} characters: {long}"


def test_each_page_has_its_form() -> None:
    assert [(page.name, problem) for page in PAGES for problem in problems(page)] == []
    assert len(PAGES) == len(NUMBERS)


def test_the_index_lists_each_page_as_it_calls_itself_in_order() -> None:
    heads = [(page, HEAD.match(page.read_text())) for page in PAGES]
    rows = [f"| [{page.name[:4]}]({page.name}) | {h['title']} |" for page, h in heads if h]
    index = (FOLDER / "README.md").read_text().splitlines()
    assert [line for line in index if line.startswith("| [")] == rows


def test_every_decision_that_is_named_is_there() -> None:
    texts = {name: (ROOT / name).read_text(errors="ignore") for name in TRACKED if (ROOT / name).is_file()}
    named = {(name, n) for name, text in texts.items() for n in re.findall(r"\bdecisions?[/ ](\d{4})\b", text)}
    assert {(name, number) for name, number in named if number not in NUMBERS} == set()


def test_documents_link_the_decisions_that_they_name() -> None:
    """`([0040](0040-landing-and-local-sink.md))`: a bare number says neither what it is nor whether it exists."""
    unlinked = {
        name: re.sub(r"\[[^\]]*\]\([^)]*\)|`[^`]*`|^# .*", "", (ROOT / name).read_text(), flags=re.MULTILINE)
        for name in TRACKED
        if name.endswith(".md") and (ROOT / name).is_file()
    }
    bare = {name: re.findall(r"(?:[(,;] ?|\bdecisions? )(00[0-9]{2})\b", text) for name, text in unlinked.items()}
    assert {name: numbers for name, numbers in bare.items() if numbers} == {}
