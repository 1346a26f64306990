"""The review's page for both environments: how it shows a dangerous change, and that it is self-contained."""

import dataclasses
import re
from collections.abc import Sequence
from functools import partial
from html.parser import HTMLParser
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from operate.diff import reviewed, snapshots
from operate.errors import OperateError
from operate.review import network
from operate.review.page import Page, changes, cost, page
from operate.review.render import Format, render, summary, write
from operate.review.rows import Cell, Table
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


def table(read: Page, caption: str) -> Sequence[Sequence[Cell]]:
    parts = [part for section in read.sections for part in (*section.shown, *section.folded)]
    [found] = [part for part in parts if isinstance(part, Table) and part.caption.startswith(caption)]
    return found.rows


def rows(read: Page, caption: str) -> dict[Cell, Sequence[Cell]]:
    """The rows of a table, each by its first cell."""
    return {row[0]: row for row in table(read, caption)}


class Structure(HTMLParser):
    """Mismatched tags, tables' parts, headings, what a browser would fetch or run, and the words that aren't folded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[set[str]] = []
        self.headings: list[int] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.words: list[str] = []
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

    def handle_data(self, data: str) -> None:
        if not {"details", "style", "title"} & {*self.open} or "summary" in self.open:
            self.words += data.split()


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
    for screen in SCREENS:
        with viewing(browser, file.as_uri(), screen) as viewer:
            viewer.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
            assert viewer.violations() == []
            width = viewer.page.evaluate("document.scrollingElement.scrollWidth")
            assert (width, viewer.said, viewer.asked) == (screen.width, [], [file.as_uri()])


def test_both_formats_have_the_same_sections_and_folds(html: str, markdown: str) -> None:
    titles = re.findall(r"<h2 id=\"s\d\">(\d)\. ([^<]+)</h2>", html)
    assert [number for number, _ in titles] == list("123456789")
    assert re.findall(r"^## (\d)\. (.+)$", markdown, re.MULTILINE) == titles
    assert html.count("<details>") == markdown.count("<details>") == 7


def test_a_decision_takes_five_minutes(prod: Synthesized) -> None:
    """At 200 words a minute, before anything is unfolded, with six things to do; the rest is several times as long."""
    todo = [Finding(rule="r", level="warning", stack="", resource="", message=f"{i} " * 20) for i in range(6)]
    text = render(page(prod.settings, prod.synthesis, todo), "html").replace("<wbr>", "")
    assert len(Structure(text).words) <= 1000
    assert len(Structure(text.replace("details>", "div>")).words) > 5000


def test_no_hashed_id_json_or_reference_stands_for_a_name(environment: Synthesized, html: str, markdown: str) -> None:
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
    counts = [int(str(row[1])) for row in rows(read, "Why").values()]
    assert sum(counts) == len(environment.synthesis.acknowledged)


def test_every_secret_holder_of_data_and_custom_resource_is_on_the_page(environment: Synthesized, read: Page) -> None:
    found = [r["Type"] for template in environment.synthesis.templates.values() for r in template["Resources"].values()]
    secrets = rows(read, "Secrets").values()
    assert len(secrets) == found.count("AWS::SecretsManager::Secret")
    assert [row for row in secrets if row[-1] == "nobody"] == []
    buckets = [row for row in rows(read, "What holds data").values() if row[1][:9] == "S3 bucket"]
    assert len(buckets) == found.count("AWS::S3::Bucket")
    custom = rows(read, "Custom resources")
    assert {f"Custom::{kind}" for kind in custom} == {each for each in found if each.startswith("Custom::")}
    assert [kind for kind, row in custom.items() if row[1] == "-"] == []
    assert "bootstrapServers: (known at deployment)" in str(table(read, "What they are asked for"))


def test_no_role_is_lost_and_cdks_framework_is_one_line(environment: Synthesized, read: Page, html: str) -> None:
    framework = int(re.findall(r"(\d+) roles that may call", html)[0])
    # Each provider's three functions and its state machine.
    assert framework % 4 == 0
    assert framework > 20
    named = sum(len(name.split(" and ")) for _, names in table(read, "Taken by") for name in names)
    peoples = environment.everywhere("AWS::IAM::ManagedPolicy")
    assert named + framework == len(environment.everywhere("AWS::IAM::Role")) + len(peoples)


def test_production_keeps_what_dev_deletes(dev: Synthesized, prod: Synthesized) -> None:
    verdicts = (page(each.settings, each.synthesis, []).verdict.rows for each in (dev, prod))
    in_dev, in_prod = (set(dict(verdict)["Kept on delete"]) for verdict in verdicts)
    data = {"database/Database", "streaming/Cluster", "lake/Lake", "lake/Landing"}
    assert data <= in_prod
    assert data & in_dev == set()


def test_what_people_may_do_is_shown(prod_page: Page) -> None:
    found = rows(prod_page, "Policies made for people")
    assert found["analytics/Landed/Reader"][2] == ("S3: reads",)
    assert "S3: reads, changes" in found["analytics/Analyst"][2]
    assert dict(prod_page.verdict.rows)["Made for people"][0] == "analytics/Analyst: Queries of prod-cdc-lake in Athena"


RELEASE = "kafka-connect-aws-s3-11.7.2.zip"
UNPINNED = [
    Finding(rule=rule, level="warning", stack="prod-cdc-lake-connectors", resource="", message=message)
    for rule, message in (
        ("Annotation::unpinned", f"plugins/releases/versions.toml has no SHA-256 for {RELEASE}, and it is refused"),
        ("checksums-present", f"{RELEASE} has no SHA-256: nothing deploys without"),
    )
]
SAME = [dataclasses.replace(UNPINNED[0], message="same", stack=stack) for stack in "ab"]


@pytest.mark.parametrize(
    ("findings", "compared", "colour", "words"),
    [
        ([], ["no changes"], "green", "Yes: no check refuses it, and nothing is left to do."),
        ([], None, "amber", "it wasn't compared"),
        ([], ["not compared: there is no snapshot"], "amber", "it wasn't compared"),
        (UNPINNED, ["no changes"], "amber", "Not yet: no check refuses it, but 1 thing must be done"),
        (SAME, ["no changes"], "amber", "1 thing must"),
        ([dataclasses.replace(UNPINNED[0], level="error"), UNPINNED[1]], None, "red", "No: 1 error and 1 warning."),
    ],
)
def test_the_headline_is_amber_until_all_is_done_and_compared(
    prod: Synthesized, findings: list[Finding], compared: list[str] | None, colour: str, words: str
) -> None:
    read = page(prod.settings, prod.synthesis, findings, changes=compared)
    assert words in read.verdict.words
    assert f'<p class="verdict {colour}">' in render(read, "html")


broker, take_out = (partial(methodcaller, name) for name in ("broker", "take_out"))
an_hour = methodcaller("replace", "Custom::Topics", '"retention.ms":"604800000"', '"retention.ms":"3600000"')
alarm = partial(set_, "monitoring", "AWS::CloudWatch::Alarm")
INSIDE = "SecurityConfiguration/EncryptionConfiguration/EnableInTransitEncryption"
DISKS = "SecurityConfiguration/EncryptionConfiguration/EnableAtRestEncryption"
THEIRS = {"ApplicationId": "a:x/Theirs", "SemanticVersion": "1"}
BUCKET, DATA, EMR = "AWS::S3::Bucket", "Without encryption or a retention", "AWS::EMR::SecurityConfiguration"
DURABILITY, TOLD, MAIL = "Kafka's durability", "Who is told", "AWS::SNS::Subscription"


@pytest.mark.parametrize(
    ("question", "mutate", "answer"),
    [
        (DATA, set_("lake", BUCKET, "LifecycleConfiguration", None, "Landing"), "lake/Landing: no retention"),
        (DATA, set_("database", "AWS::RDS::DBCluster", "StorageEncrypted", None), "database/Database: no encryption"),
        (DATA, set_("processing", EMR, DISKS, False), "processing/Emr/Cluster: no encryption"),
        (
            "Deleted",
            methodcaller("add", "lake", "Custom::S3AutoDeleteObjects", BucketName={"Ref": "Lake5F1B88EA"}),
            "lake/Lake (kept, emptied before)",
        ),
        ("Looked up at the deployment", set_("vpn", "AWS::EC2::Instance", "ImageId", "ami-0123456789"), "nothing"),
        (DURABILITY, broker("min.insync.replicas", "1"), "a write counts once 1 of 3 replicas have it"),
        (DURABILITY, broker("unclean.leader.election.enable", "true"), "even a replica that lags may lead"),
        (DURABILITY, broker("message.max.bytes", "1048576"), "events of at most 1 MB; "),
        (DURABILITY, an_hour, "cdc_events: kept for 1 hour"),
        ("EMR runs", set_("processing", EMR, INSIDE, True), "between its nodes: encrypted"),
        (TOLD, set_("monitoring", MAIL, "Endpoint", "me@other.org"), "me@other.org: 11 alarms, 2 events, 1 budget"),
        (TOLD, take_out("monitoring", MAIL), "nobody: 11 alarms, 2 events, 1 budget"),
        (TOLD, alarm("ActionsEnabled", False, "brokerdisk"), "monitoring/broker-disk: tells nobody"),
        (TOLD, alarm("AlarmActions", [], "brokerdisk"), "example.com: 10 alarms, 2 events"),
        (TOLD, take_out("monitoring", "AWS::Events::Rule"), "not watched: the job's cluster, EC2's instances"),
        (
            "Others' code",
            set_("database", "AWS::Serverless::Application", "Location", THEIRS),
            "database/Database/RotationSingleUser is Theirs 1, which changes database/Database/Secret",
        ),
    ],
)
def test_a_dangerous_change_is_in_the_verdict(
    prod: Synthesized, prod_page: Page, question: str, mutate: Mutation, answer: str
) -> None:
    assert answer in "; ".join(dict(changed_page(prod, mutate).verdict.rows)[question])
    assert answer not in "; ".join(dict(prod_page.verdict.rows)[question])


def test_emrs_zone_and_stacks_without_protection_are_named(prod: Synthesized) -> None:
    protected = dict.fromkeys(prod.synthesis.templates, True) | {f"{prod.settings.prefix}-lake": False}
    answers = dict(page(prod.settings, dataclasses.replace(prod.synthesis, protected=protected), []).verdict.rows)
    assert answers["Stacks protected from deletion"] == ("9 of 10 stacks", "not lake")
    assert "in ap-southeast-2a alone: if that zone fails, the job waits" in answers["EMR runs"]


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


def test_a_wildcard_shows_first_with_nobody_having_accepted_it(prod: Synthesized) -> None:
    found = changed_page(prod, allow("processing", "RolesNodes", "s3:GetObject"))
    assert table(found, "All rights")[0] == (
        ("processing/Roles/Nodes",),
        ("S3: reads",),
        ("everything (*)",),
        "-",
        "nobody has accepted it",
        "on every resource of a kind",
        ("s3:GetObject",),
    )
    assert dict(found.verdict.rows)["Wildcards in rights"][-1] == "nobody has accepted 1 of them"


def test_a_framework_role_that_may_more_is_shown_as_any_other(prod: Synthesized) -> None:
    found = changed_page(prod, allow("connectors", "TopicsProviderFrameworkframeworkonEvent", "iam:PassRole"))
    assert table(found, "All rights")[0][:3] == (
        ("connectors/Topics/Provider/Framework/framework-onEvent/ServiceRole",),
        ("IAM: pass role",),
        ("everything (*)",),
    )
    assert "31 roles that may call" in render(found, "md")


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
    answers = dict(found.verdict.rows)
    assert name not in answers["Kept on delete"]
    assert (name if becomes == "deleted" else f"{name} ({becomes})") in answers["Deleted"]
    assert rows(found, "What holds data")[name][-1] == "kept"


@pytest.mark.parametrize(
    "resource",
    ["*", "arn:aws:secretsmanager:ap-southeast-2:222222222222:secret:*", {"Ref": "ConnectorSecretC38E4FCB"}],
)
def test_a_new_reader_of_a_secret_is_next_to_it(prod: Synthesized, resource: object) -> None:
    reads = "secretsmanager:GetSecretValue"
    found = changed_page(prod, allow("database", "ProtectionOnEventRole", reads, resource))
    readers = rows(found, "Secrets")["database/ConnectorSecret"][-1]
    assert any(reader.startswith("database/Protection/") for reader in readers)


def test_the_readers_of_each_secret_are_told_apart(prod_page: Page) -> None:
    readers = {name: row[-1] for name, row in rows(prod_page, "Secrets").items()}
    preparing = "database/SourcePreparation/IsCompleteRole and OnEventRole"
    assert readers == {
        "database/ConnectorSecret": ("connectors/SourceRole/Role", preparing),
        "database/Database/Secret": (
            preparing,
            "CloudFormation, when it makes database/Database",
            "its rotation, database/Database/RotationSingleUser",
        ),
        "vpn/PreSharedKey": ("vpn/Bastion/InstanceRole", "vpn/Rotation/Role", "its rotation, vpn/Rotation/Function"),
    }


def test_who_is_let_in_by_a_resources_policy_shows(prod: Synthesized, prod_page: Page) -> None:
    stranger = {"AWS": "arn:aws:iam::999999999999:root"}
    found = changed_page(prod, let_in("monitoring", "AWS::KMS::Key", "KeyPolicy", stranger, "kms:Decrypt"))
    assert "iam root" not in render(prod_page, "md")
    [row] = [row for who, row in rows(found, "Let in").items() if "999999999999" in who]
    assert row[1:] == (("KMS: decrypt",), "monitoring/TopicKey", "-", "-")


def test_findings_are_told_by_name_and_say_no(prod: Synthesized) -> None:
    logical_id = next(iter(prod.resources("streaming", "AWS::EC2::SecurityGroup")))
    stack, message = "prod-cdc-lake-streaming", f"{logical_id}: open"
    finding = Finding(rule="no-open-ports", level="error", stack=stack, resource=logical_id, message=message)
    read = page(prod.settings, prod.synthesis, [finding], changes=["adds a bucket"])
    [found] = read.verdict.facts
    assert (found.where, found.what) == (("streaming/BrokerAccess",), "streaming/BrokerAccess: open")
    text = summary(read, [Path("build/review/prod.html")])
    assert "No: 1 error and 0 warnings. `./lake aws deploy` refuses it." in text
    assert re.search(r"Changes: +adds a bucket", text)
    assert "adds a bucket" in render(read, "html")
    assert len(text.splitlines()) < 50


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
    bill = cost(prod.synthesis.app(elsewhere))
    assert bill.lines == ()
    assert "operate/costs/prices.toml has the prices of ap-southeast-2" in bill.words
    read = page(elsewhere, prod.synthesis, [])
    assert bill.words in dict(read.verdict.rows)["Cost"]
    kinds: tuple[Format, ...] = ("html", "md")
    assert [kind for kind in kinds if "not those of eu-west-1" not in render(read, kind).replace("<wbr>", "")] == []


def test_the_page_is_written_next_to_its_markdown(read: Page, tmp_path: Path) -> None:
    paths = write(read, tmp_path / "build" / "review")
    assert [path.name for path in paths] == [f"{read.environment.name}.html", f"{read.environment.name}.md"]
    assert "flowchart LR" in paths[1].read_text(encoding="utf-8")


def test_without_graphviz_one_line_says_so(read: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "GRAPHVIZ", tmp_path / "viz.cjs")
    with pytest.raises(OperateError, match="Graphviz isn't installed"):
        render(read, "html")
