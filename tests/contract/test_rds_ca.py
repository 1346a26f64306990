"""RDS's root certificates, as committed."""

import datetime

import pytest
from cryptography import x509

from contract import rds_ca


@pytest.mark.parametrize(("region", "pem"), rds_ca.roots().items(), ids=rds_ca.roots())
def test_each_is_its_regions_root_and_stays_valid(region: str, pem: str) -> None:
    certificate = x509.load_pem_x509_certificate(pem.encode())
    (name,) = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    assert name.value == f"Amazon RDS {region} Root CA RSA2048 G1"
    certificate.verify_directly_issued_by(certificate)
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    # Years left to renew them: a test that fails on a day's notice would be an outage.
    in_ten_years = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3650)
    assert certificate.not_valid_after_utc > in_ten_years


def test_nothing_else_is_in_the_bundle() -> None:
    assert len(rds_ca.roots()) == rds_ca.BUNDLE.read_text().count("BEGIN CERTIFICATE") > 20


def test_a_region_without_one_is_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"rds-ca\.pem has no root .* for mars-north-1: .*generate certificates"):
        rds_ca.root("mars-north-1")


@pytest.mark.parametrize(
    ("host", "is_rds"),
    [
        ("dev-cdc-lake.cluster-abc.ap-southeast-2.rds.amazonaws.com", True),
        ("DEV.cluster-ro-abc.ap-southeast-2.RDS.amazonaws.com.", True),
        ("db.abc.cn-north-1.rds.amazonaws.com.cn", True),
        ("rds.amazonaws.com.example.org", False),
        ("evilrds.amazonaws.com", False),
        ("127.0.0.1", False),
        ("", False),
    ],
)
def test_rds_is_known_by_its_hosts_names(host: str, *, is_rds: bool) -> None:
    assert rds_ca.is_rds(host) is is_rds
