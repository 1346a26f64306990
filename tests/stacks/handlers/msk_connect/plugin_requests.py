"""A plugin's request, the releases that it names, and the bucket of its zip."""

import hashlib
import io
import zipfile
from typing import Any

from tests.plugins.releases.server import Server
from tests.stacks.handlers.clients import CREDENTIALS, client

BUCKET = "artefacts"
PLUGIN = "dev-cdc-lake-orders-source"


def archive(*names: str) -> bytes:
    """A release's zip."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr("plugin/LICENSE.txt", "text")
        for name in names:
            packed.writestr(f"plugin/lib/{name}.jar", name * 300)
    return content.getvalue()


RELEASES = {name: archive(name) for name in ("one", "two", "provider")}


def plugin_request(server: Server, *names: str, **changes: Any) -> dict[str, Any]:
    """A plugin of releases that the server has."""
    releases = [
        {
            "url": f"{server.url}/{name}.zip",
            "file": f"{name}.zip",
            "size": len(RELEASES[name]),
            "sha256": hashlib.sha256(RELEASES[name]).hexdigest(),
        }
        for name in names
    ]
    return {"name": PLUGIN, "bucket": BUCKET, "prefix": "plugins/", "releases": releases, "tags": {"a": "b"}, **changes}


def make_bucket() -> None:
    s3 = client("s3")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": CREDENTIALS["region_name"]})
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})


def stored() -> set[str]:
    """All keys in the bucket with any version."""
    pages = client("s3").list_object_versions(Bucket=BUCKET)
    return {each["Key"] for each in [*pages.get("Versions", []), *pages.get("DeleteMarkers", [])]}
