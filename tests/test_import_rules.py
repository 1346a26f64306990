"""Who may import whom (docs/architecture.md), and that required packages are used, and imported ones required."""

import ast
import functools
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The job's command line and archive: its starters, here and on EMR, import only these of its modules.
SUBMISSION = {"spark_jobs.options.submit", "spark_jobs.runtime.archive", "spark_jobs.options.keys"}
FOLDERS = {path.parent.name for path in ROOT.glob("*/__init__.py")}
OURS = FOLDERS | SUBMISSION
# Folder → (our other folders that it may import, packages that it may import; None: any). The handlers run in Lambda
# and the stacks at synth, so neither imports the other.
RULES: dict[str, tuple[set[str], set[str] | None]] = {
    "contract": (set(), set()),
    "db": ({"contract"}, {"psycopg2", "typer", "rich", "boto3", "botocore"}),
    "plugins": (
        {"contract"},
        {"typer", "rich", "confluent_kafka", "aws_msk_iam_sasl_signer", "botocore", "pydantic", "sqlglot"},
    ),
    "spark_jobs": ({"contract"} | SUBMISSION, {"pyspark", "py4j", "boto3", "botocore"}),
    "settings": ({"analytics", "contract", "plugins"} | SUBMISSION, {"pydantic"}),
    "analytics": ({"contract"}, {"sqlglot"}),
    "capture": ({"contract", "db", "plugins", "settings"}, {"psycopg2", "typer", "rich"}),
    "stacks": ({"analytics", "contract", "plugins", "settings"} | SUBMISSION, None),
    "stacks/handlers": ({"contract", "db", "plugins"}, {"boto3", "botocore", "psycopg2", "confluent_kafka"}),
    "local": ({"analytics", "capture", "contract", "db", "local/sink", "plugins", "settings"} | SUBMISSION, None),
    # Replaces a connector: independent of the platform.
    "local/sink": ({"contract", "plugins"}, {"boto3", "botocore", "confluent_kafka", "tenacity", "typer"}),
    "operate": (
        {"analytics", "capture", "contract", "db", "local", "plugins", "settings", "stacks"} | SUBMISSION,
        None,
    ),
    "bench": (OURS - {"tests"}, None),
    "cli": (OURS, {"typer", "rich"}),
}

# Folders within a folder that have rules of their own.
WITHIN = {folder for folder in RULES if "/" in folder}


@functools.cache
def imports_of(path: Path) -> set[str]:
    """The top-level names that a module imports, anywhere in it; the handlers' package is listed separately.

    Imports for the type checker alone don't count.
    """
    names: set[str] = set()
    for node in _nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {_top_level(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {"." if node.level else _top_level(f"{node.module}.{alias.name}") for alias in node.names}
    return names


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements below a node: only these import."""
    yield node
    for child in ast.iter_child_nodes(node):
        for_the_checker = isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case) and not for_the_checker:
            yield from _nodes(child)


def _top_level(name: str) -> str:
    for folder in WITHIN:
        if f"{name}.".startswith(folder.replace("/", ".") + "."):
            return folder
    module = ".".join(name.split(".")[:3])
    return module if module in SUBMISSION else name.split(".")[0]


def violations(folder: str, imported: set[str]) -> set[str]:
    """The imports that the rules forbid for a module in `folder`."""
    ours, packages = RULES[folder]
    wrong = (imported & {*OURS, *WITHIN}) - ours - {folder}
    if packages is not None:
        wrong |= imported - OURS - WITHIN - packages - set(sys.stdlib_module_names)
    return wrong


def modules_of(folder: str) -> list[Path]:
    """The modules of a folder, excluding subfolders with rules of their own."""
    below = [ROOT / other for other in RULES if other.startswith(f"{folder}/")]
    found = sorted((ROOT / folder).glob("**/*.py"))
    return [path for path in found if not any(path.is_relative_to(other) for other in below)]


def test_every_folder_has_a_rule_and_is_checked() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert {*RULES} - WITHIN | {"tests"} == FOLDERS
    assert {*tools["mypy"]["packages"]} == FOLDERS
    assert {*tools["ruff"]["lint"]["isort"]["known-first-party"]} == FOLDERS


def test_every_module_imports_only_what_its_folder_may() -> None:
    modules = {folder: modules_of(folder) for folder in RULES}
    assert all(modules.values())
    wrong = {
        str(path.relative_to(ROOT)): violations(folder, imports_of(path))
        for folder, paths in modules.items()
        for path in paths
    }
    assert {path: names for path, names in wrong.items() if names} == {}


def test_what_starts_the_job_needs_no_spark() -> None:
    for name in SUBMISSION:
        imported = imports_of(ROOT / f"{name.replace('.', '/')}.py")
        assert imported <= {"contract", "spark_jobs", *SUBMISSION, *sys.stdlib_module_names}, name
    assert imports_of(ROOT / "local" / "platform" / "job.py") >= {"spark_jobs.options.submit"}
    # A forbidden import is seen.
    assert violations("stacks", {"aws_cdk", "spark_jobs.runtime.archive", "spark_jobs"}) == {"spark_jobs"}
    assert violations("stacks/handlers", {"boto3", "plugins", "aws_cdk", "."}) == {"aws_cdk", "."}


def test_what_runs_in_lambda_needs_no_command_line() -> None:
    assert imports_of(ROOT / "plugins" / "releases" / "download.py") <= {"contract", *sys.stdlib_module_names}
    assert imports_of(ROOT / "plugins" / "releases" / "archive.py") <= {"plugins", *sys.stdlib_module_names}


def test_few_modules_of_the_plugins_need_packages() -> None:
    """The others are imported where these aren't installed: in most of the Lambda functions, and by the stacks."""
    needed = {"confluent_kafka", "aws_msk_iam_sasl_signer", "botocore", "pydantic", "sqlglot"}
    found = {path.name: imports_of(path) & needed for path in modules_of("plugins")}
    assert {name: packages for name, packages in found.items() if packages} == {
        # The handlers' and the commands' way to a cluster: botocore is installed wherever these run.
        "kubernetes_api.py": {"botocore"},
        # No handler needs a query's joins.
        "joined_query.py": {"sqlglot"},
        "topic_admin.py": {"confluent_kafka"},
        # A handler gets its results in the request.
        "versions.py": {"pydantic"},
        "msk_login.py": {"aws_msk_iam_sasl_signer", "botocore"},
    }


APP = "app.py"
PROGRAMS = [APP, *sorted(FOLDERS - {"tests"})]
LINE = re.compile(r"^([\w.-]+)[^#\n]*(#.*)?$", re.MULTILINE)


@functools.cache
def imported(folder: str) -> set[str]:
    """The top-level package names that a folder's modules import, anywhere in them."""
    paths = [ROOT / APP] if folder == APP else (ROOT / folder).rglob("*.py")
    ours = {*OURS, *WITHIN, APP.removesuffix(".py")}
    return {name for path in paths for name in imports_of(path)} - ours - sys.stdlib_module_names


@functools.cache
def distributions() -> dict[str, set[str]]:
    """The distributions, as requirements write them, that provide each top-level name."""
    return {module: set(map(written, names)) for module, names in importlib.metadata.packages_distributions().items()}


def written(name: str) -> str:
    return name.lower().replace("_", "-")


def listed(*files: str) -> dict[str, str]:
    """Each required package, and its comments."""
    return {written(name): said for file in files for name, said in LINE.findall((ROOT / file).read_text())}


def test_what_a_folder_imports_is_listed() -> None:
    files = ["requirements.in", "requirements-dev.in"]
    for folder in (*PROGRAMS, "tests"):
        asked = listed(*files if folder == "tests" else files[:1]).keys()
        assert (folder, [name for name in imported(folder) if not distributions()[name] & asked]) == (folder, [])


def test_every_package_is_imported_or_says_what_it_is_for() -> None:
    silent = {name for name, said in listed("requirements.in").items() if not said}
    used = {package for folder in PROGRAMS for name in imported(folder) for package in distributions()[name]}
    assert silent
    assert silent - used == set()
