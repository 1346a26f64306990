"""The review's page for both environments: how it shows a dangerous change, and that it is self-contained."""

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from operate.diff import reviewed, snapshots
from operate.errors import OperateError
from operate.review import network
from operate.review.cost import cost
from operate.review.page import Page, changes, page
from operate.review.render import Format, render, summary, write
from operate.review.words import RULES
from stacks.gate.template import Finding
from tests.browser.viewer import SCREENS, viewing
from tests.stacks.conftest import Synthesized
from tests.stacks.gate.changed import Changed, Mutation, allow, let_in, open_, port, set_

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.synth
VOID = {"meta", "wbr", "br", "link", "img", "hr", "input"}


@pytest.fixture(scope="module", params=["dev", "prod"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def read(environment: Synthesized) -> Page:
    return page(environment.settings, environment.synthesis, [])


@pytest.fixture(scope="module")
def html(read: Page) -> str:
    return render(read, "html")


@pytest.fixture(scope="module")
def markdown(read: Page) -> str:
    return render(read, "md")


@pytest.fixture(scope="module")
def prod_page(prod: Synthesized) -> Page:
    return page(prod.settings, prod.synthesis, [])


def changed_page(prod: Synthesized, mutate: Mutation) -> Page:
    changed = Changed(prod)
    mutate(changed)
    return page(prod.settings, dataclasses.replace(prod.synthesis, templates=changed.templates), [])


class Structure(HTMLParser):
    """Mismatched tags, every table's parts, headings in order, and everything that a browser would fetch or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[set[str]] = []
        self.headings: list[int] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append(set())
        elif self.tables and tag in ("caption", "thead", "tbody", "th"):
            self.tables[-1].add(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag in ("script", "link", "iframe", "img", "object", "embed"):
            self.fetched.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "srcset", "action", "data", "xlink:href") or name.startswith("on"):
                self.fetched.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_every_table_says_what_it_is(html: str) -> None:
    found = Structure(html)
    assert found.open == []
    assert len(found.tables) > 10
    assert [parts for parts in found.tables if not {"caption", "thead", "tbody", "th"} <= parts] == []
    assert found.headings.count(1) == 1
    assert [b for a, b in zip(found.headings, found.headings[1:], strict=False) if b > a + 1] == []
    assert len(found.ids) == len(set(found.ids))


def test_the_page_fetches_and_runs_nothing(html: str) -> None:
    assert Structure(html).fetched == []
    assert re.findall(r"https?://|url\(|@import|<\?xml|<!--", html) == []


def test_the_page_is_for_light_and_dark_and_small_windows(html: str) -> None:
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    assert "@media (prefers-color-scheme: dark)" in html
    assert '<svg role="img" aria-labelledby="drawing-caption"' in html


def test_a_browser_shows_all_of_it_to_everybody(prod_page: Page, browser: "Browser", tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render(prod_page, "html"), encoding="utf-8")
    for screen in (SCREENS[0], SCREENS[-1]):  # a light laptop, a dark phone
        with viewing(browser, file.as_uri(), screen) as viewer:
            viewer.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
            assert viewer.violations() == []
            width = viewer.page.evaluate("document.scrollingElement.scrollWidth")
            assert (width, viewer.said, viewer.asked) == (screen.width, [], [file.as_uri()])


def test_both_formats_have_all_eight_sections(html: str, markdown: str) -> None:
    titles = re.findall(r"<h2 id=\"s\d\">(\d)\. ([^<]+)</h2>", html)
    assert [number for number, _ in titles] == list("12345678")
    assert re.findall(r"^## (\d)\. (.+)$", markdown, re.MULTILINE) == titles


def test_no_hashed_id_json_or_reference_is_left_where_there_is_a_name(
    environment: Synthesized, html: str, markdown: str
) -> None:
    ids = {name for template in environment.synthesis.templates.values() for name in template["Resources"]}
    hashed = {name for name in ids if re.search(r"[0-9A-F]{8}$", name)}
    assert len(hashed) > 100
    for text in (html.replace("<wbr>", ""), markdown.replace("\\", "")):
        words = set(re.findall(r"[A-Za-z0-9]+", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)))
        assert words & hashed == set()
        assert re.findall(r"Fn::|ExportsOutput|\{&#34;|\{\"", text) == []


def test_markdowns_tables_have_as_many_cells_as_heads(markdown: str) -> None:
    tables = re.findall(r"^(\|[^\n]+\n\|[-|]+\n(?:\|[^\n]*\n)*)", markdown, re.MULTILINE)
    assert len(tables) > 10
    for table in tables:
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(counts) == 1, table[:200]


def test_every_acknowledged_rule_is_said_in_words(environment: Synthesized, read: Page) -> None:
    rules = {each.rule.partition("[")[0] for each in environment.synthesis.acknowledged}
    assert rules <= RULES.keys()
    assert sum(each.count for each in read.acknowledgements) == len(environment.synthesis.acknowledged)


def test_every_secret_holder_of_data_and_custom_resource_is_on_the_page(environment: Synthesized, read: Page) -> None:
    found = [r["Type"] for template in environment.synthesis.templates.values() for r in template["Resources"].values()]
    assert len(read.secrets) == found.count("AWS::SecretsManager::Secret")
    assert all(secret.readers for secret in read.secrets)
    buckets = [each for each in read.holdings if each.what.startswith("S3 bucket")]
    assert len(buckets) == found.count("AWS::S3::Bucket")
    assert {f"Custom::{kind.type}" for kind in read.custom} == {each for each in found if each.startswith("Custom::")}
    assert [kind.type for kind in read.custom if not kind.about] == []


def test_cdks_framework_is_one_line_and_no_role_is_lost(environment: Synthesized, read: Page, html: str) -> None:
    roles = len(environment.everywhere("AWS::IAM::Role"))
    # Each provider's three functions and its state machine.
    assert read.roles.framework % 4 == 0
    assert read.roles.framework > 20
    assert f"{read.roles.framework} roles that may call" in html
    named = sum(len(re.split(" and ", name)) for role in read.roles.roles for name in role.names)
    assert named + read.roles.framework == roles


def test_production_keeps_what_dev_deletes(dev: Synthesized, prod: Synthesized) -> None:
    kept = {
        name: {each.name for each in page(synthesized.settings, synthesized.synthesis, []).holdings if each.kept}
        for name, synthesized in (("dev", dev), ("prod", prod))
    }
    data = {"database/Database", "streaming/Cluster", "lake/Lake", "lake/Landing"}
    assert data <= kept["prod"]
    assert data & kept["dev"] == set()


@pytest.mark.parametrize(
    ("question", "mutate", "answer"),
    [
        (
            "Without encryption or a retention",
            set_("lake", "AWS::S3::Bucket", "LifecycleConfiguration", None, "Landing"),
            "lake/Landing: no retention",
        ),
        (
            "Without encryption or a retention",
            set_("database", "AWS::RDS::DBCluster", "StorageEncrypted", None),
            "database/Database: no encryption",
        ),
        (
            "Looked up at the deployment",
            set_("vpn", "AWS::EC2::Instance", "ImageId", "ami-0123456789abcdef0"),
            "nothing",
        ),
    ],
)
def test_a_dangerous_change_is_in_the_verdict(
    prod: Synthesized, prod_page: Page, question: str, mutate: Mutation, answer: str
) -> None:
    assert dict(changed_page(prod, mutate).verdict.rows)[question] == (answer,)
    assert dict(prod_page.verdict.rows)[question] != (answer,)


def test_an_image_that_is_looked_up_on_the_day_is_in_the_verdict(prod_page: Page) -> None:
    (answer,) = dict(prod_page.verdict.rows)["Looked up at the deployment"]
    assert answer.startswith("vpn/Bastion: its image is what /aws/service/ami-amazon-linux")


def test_an_opened_port_is_in_verdict_drawing_and_tables(prod: Synthesized) -> None:
    found = changed_page(prod, open_("database", "DatabaseAccess", port(5432, CidrIp="8.8.0.0/16")))
    assert "database/Database: TCP 5432, from 8.8.0.0/16" in dict(found.verdict.rows)["Open to the internet"]
    assert '8.8.0.0/16"' in render(found, "md")
    text = render(found, "html")
    assert text.count('class="edge open"') == 2
    assert ">8.8.0.0/16</text>" in text


def test_a_wildcard_shows_first_with_nobody_having_accepted_it(prod: Synthesized, prod_page: Page) -> None:
    found = changed_page(prod, allow("processing", "RolesNodes", "s3:GetObject"))
    (wide,) = (each for each in found.roles.everything if not each.reason)
    assert wide.who == ("processing/Roles/Nodes",)
    assert wide.rights[0].sentence == "S3: reads — on everything (*)"
    row, row_before = (dict(each.verdict.rows)["Wildcards in rights"] for each in (found, prod_page))
    assert row != row_before


def test_a_framework_role_that_may_more_is_shown_as_any_other(prod: Synthesized, prod_page: Page) -> None:
    role = "TopicsProviderFrameworkframeworkonEvent"
    found = changed_page(prod, allow("connectors", role, "iam:PassRole"))
    assert found.roles.framework == prod_page.roles.framework - 1
    assert any("IAM: pass role" in right.words for wide in found.roles.everything for right in wide.rights)


@pytest.mark.parametrize(
    ("role", "type_", "beginning", "name", "becomes"),
    [
        ("streaming", "AWS::MSK::Cluster", "", "streaming/Cluster", "deleted"),
        ("database", "AWS::RDS::DBCluster", "", "database/Database", "deleted, with a last snapshot"),
        ("lake", "AWS::S3::Bucket", "Lake5", "lake/Lake", "deleted if it is empty, else the deletion fails"),
    ],
)
def test_a_removed_deletion_policy_is_in_the_verdict(
    prod: Synthesized, role: str, type_: str, beginning: str, name: str, becomes: str
) -> None:
    found = changed_page(prod, lambda changed: changed.find(role, type_, beginning).pop("DeletionPolicy"))
    rows = dict(found.verdict.rows)
    assert name not in rows["Kept on delete"]
    assert (name if becomes == "deleted" else f"{name} ({becomes})") in rows["Deleted"]
    (holding,) = (each for each in found.holdings if each.name == name)
    assert holding.on_replacement == "kept"


@pytest.mark.parametrize(
    "resource",
    ["*", "arn:aws:secretsmanager:ap-southeast-2:222222222222:secret:*", {"Ref": "ConnectorSecretC38E4FCB"}],
)
def test_a_new_reader_of_a_secret_is_next_to_it(prod: Synthesized, resource: object) -> None:
    reads = "secretsmanager:GetSecretValue"
    found = changed_page(prod, allow("database", "ProtectionOnEventRole", reads, resource))
    (secret,) = (each for each in found.secrets if each.name == "database/ConnectorSecret")
    assert any(reader.startswith("database/Protection/") for reader in secret.readers)


def test_a_reader_from_another_stack_is_found_and_one_of_another_secret_is_not(prod_page: Page) -> None:
    readers = {secret.name: " ".join(secret.readers) for secret in prod_page.secrets}
    assert "connectors/Source" in readers["database/ConnectorSecret"]
    assert "connectors/" not in readers["database/Database/Secret"]
    assert "by CloudFormation" in readers["database/Database/Secret"]
    assert "by CloudFormation" not in readers["database/ConnectorSecret"]


def test_who_is_let_in_by_a_resources_policy_shows(prod: Synthesized, prod_page: Page) -> None:
    stranger = {"AWS": "arn:aws:iam::999999999999:root"}
    found = changed_page(prod, let_in("monitoring", "AWS::KMS::Key", "KeyPolicy", stranger, "kms:Decrypt"))
    assert "iam root" not in render(prod_page, "md")
    (who,) = (each for each in found.let_in if "999999999999" in each.who)
    assert (who.where, who.actions, who.conditions) == ("monitoring/TopicKey", ("KMS: decrypt",), ())


def test_findings_are_told_by_name_and_say_no(prod: Synthesized) -> None:
    logical_id = next(iter(prod.resources("streaming", "AWS::EC2::SecurityGroup")))
    stack, message = "prod-cdc-lake-streaming", f"{logical_id}: open"
    finding = Finding(rule="no-open-ports", level="error", stack=stack, resource=logical_id, message=message)
    read = page(prod.settings, prod.synthesis, [finding], changes=["adds a bucket"])
    (found,) = read.verdict.findings
    assert (found.resource, found.message) == ("streaming/BrokerAccess", "streaming/BrokerAccess: open")
    text = summary(read, [Path("build/review/prod.html")])
    assert "No: 1 error and 0 warnings. `./lake aws deploy` refuses it." in text
    assert re.search(r"Changes against the snapshot: +adds a bucket", text)
    assert "Changes against the snapshot" in render(read, "html")
    assert len(text.splitlines()) < 30


def test_changes_that_a_person_decides_are_in_the_verdict(prod: Synthesized, monkeypatch: pytest.MonkeyPatch) -> None:
    revision = reviewed.Revision(commit="0123456789", name="reviewed-prod")
    monkeypatch.setattr(reviewed, "revision", lambda *_: revision)
    monkeypatch.setattr(reviewed, "read", lambda environment, _: snapshots.read(environment))
    changed = Changed(prod)
    open_("database", "DatabaseAccess", port(5432, CidrIp="8.8.0.0/16"))(changed)
    mutated = dataclasses.replace(prod.synthesis, templates=changed.templates)
    assert changes(prod.settings, prod.synthesis) == ("no changes, against reviewed-prod (0123456)",)
    (counts, line, *_) = changes(prod.settings, mutated)
    assert "Network wider 1" in counts
    assert "8.8.0.0/16" in line


def test_with_nothing_to_compare_with_an_environment_is_reviewed_nevertheless(prod: Synthesized) -> None:
    (said,) = changes(prod.settings, prod.synthesis, against="nowhere")
    assert said.startswith("not compared: ")


def test_what_is_written_in_a_template_is_text_on_the_page(prod: Synthesized) -> None:
    text = "<script>alert(1)</script> | x"
    group = ("AWS::EC2::SecurityGroup", "GroupDescription", text, "BrokerAccess")
    found = changed_page(prod, set_("streaming", *group))
    assert "<script" not in render(found, "html")
    assert "\\<script\\>alert(1)\\</script\\> \\| x" in render(found, "md")


def test_a_region_without_prices_has_a_page_that_says_so(prod: Synthesized) -> None:
    elsewhere = prod.settings.model_copy(update={"region": "eu-west-1"})
    bill = cost(elsewhere)
    assert bill.usd is None
    assert "operate/costs/prices.toml has the prices of ap-southeast-2" in bill.words
    read = page(elsewhere, prod.synthesis, [])
    assert bill.words in dict(read.verdict.rows)["Cost"]
    kinds: tuple[Format, ...] = ("html", "md")
    assert [kind for kind in kinds if "not those of eu-west-1" not in render(read, kind).replace("<wbr>", "")] == []


def test_the_page_is_written_next_to_its_markdown(read: Page, tmp_path: Path) -> None:
    paths = write(read, tmp_path / "build" / "review")
    assert [path.name for path in paths] == [f"{read.name}.html", f"{read.name}.md"]
    assert "flowchart LR" in paths[1].read_text(encoding="utf-8")


def test_without_graphviz_one_line_says_so(read: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "GRAPHVIZ", tmp_path / "viz.cjs")
    with pytest.raises(OperateError, match="Graphviz isn't installed"):
        render(read, "html")
