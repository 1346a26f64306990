"""The API of an EKS cluster for handlers and commands: objects, logs, and Connect's REST through its proxy.

Uses only the standard library: an HTTPS request with a token. The token is a presigned STS request, which EKS sends in
our name to learn who we are (aws-iam-authenticator's README, "API Authorization from Outside a Cluster"); creating it
needs no call to AWS.
"""

import base64
import functools
import http.client
import json
import os
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from botocore.credentials import Credentials
from botocore.hooks import HierarchicalEmitter
from botocore.model import ServiceId
from botocore.session import get_session
from botocore.signers import RequestSigner

Object = Mapping[str, Any]
Answer = TypeVar("Answer")
FIELD_MANAGER = "cdc-lake"
TIMEOUT_S = 20
_TOKEN_SECONDS = 60
_NOT_FOUND, _CONFLICT = 404, 409
_SERVER_ERROR = 500
# Permanent errors that the API answers with 500: an unknown field, or a value of another type.
_MALFORMED = ("failed to create typed patch object", "failed to convert new object")
# Kubernetes's plurals, in the path of each kind.
_PLURALS = {"NetworkPolicy": "networkpolicies"}
_CLUSTER_WIDE = frozenset({"Namespace"})


class KubernetesError(RuntimeError):
    """The API, or the service behind it, has refused a request; `status` is HTTP's, and `reason` its message.

    `by_connect`: a worker refused it, in Kafka Connect's form; not the API, nor a worker that is still starting.
    """

    def __init__(self, what: str, status: int, reason: str, *, by_connect: bool = False) -> None:
        super().__init__(f"{what}: {status}: {reason}")
        self.status = status
        self.reason = reason
        self.by_connect = by_connect


class UnreachableError(RuntimeError):
    """No answer, or one that it can't answer now: worth retrying."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where the API is: `endpoint` is its URL, `authority` its certificate's authority, as EKS returns it (Base64)."""

    name: str
    endpoint: str
    authority: str

    @classmethod
    def of_request(cls, request: Mapping[str, Any]) -> "Cluster":
        """Read it from a custom resource's request. Raises KeyError."""
        return cls(name=str(request["name"]), endpoint=str(request["endpoint"]), authority=str(request["authority"]))


class Kubernetes:
    """A cluster's API; `token` identifies the caller, by default the role of this function.

    Raises KubernetesError, UnreachableError.
    """

    def __init__(self, cluster: Cluster, *, token: Callable[[], str] | None = None) -> None:
        self._cluster = cluster
        self._token = token or functools.partial(signed_token, cluster.name)

    def apply(self, wanted: Object) -> dict[str, Any]:
        """Create or update an object; fields that we don't name stay (server-side apply)."""
        path = f"{_path(wanted)}?fieldManager={FIELD_MANAGER}&force=true"
        return dict(self._json("PATCH", path, wanted, kind="application/apply-patch+yaml"))

    def get(self, wanted: Object) -> dict[str, Any] | None:
        return if_there(lambda: dict(self._json("GET", _path(wanted)) or {}))

    def delete(self, wanted: Object) -> bool:
        """Delete an object and its dependents; return whether it existed."""
        body = {"propagationPolicy": "Foreground"}
        return if_there(lambda: self._json("DELETE", _path(wanted), body) or {}) is not None

    def annotate(self, wanted: Object, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of an object, or remove them (None); the rest of it is unchanged."""
        patch = {"metadata": {"annotations": dict(annotations)}}
        self._json("PATCH", _path(wanted), patch, kind="application/merge-patch+json")

    def pods(self, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        selector = quote(",".join(f"{name}={value}" for name, value in labels.items()))
        found = self._json("GET", f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}")
        return list(found["items"])

    def log(self, namespace: str, pod: str, *, lines: int) -> str:
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log?tailLines={lines}"
        return self._answered("GET", path).decode(errors="replace")

    def through_service(self, method: str, namespace: str, service: str, path: str, body: Any = None) -> Any:
        """Call a Service by its port `rest`, through the API's proxy; return the JSON answer, None without any."""
        try:
            return self._json(method, f"/api/v1/namespaces/{namespace}/services/http:{service}:rest/proxy{path}", body)
        except KubernetesError as error:
            if error.status == _NOT_FOUND and not error.by_connect:
                raise UnreachableError(f"no worker of {service} can be asked yet: {error.reason}") from None
            raise

    def through_pod(self, namespace: str, pod: str, port: int, path: str) -> Any:
        """Call a pod in the same way. Its own error responses count as answers, too."""
        status, answer = self._request("GET", f"/api/v1/namespaces/{namespace}/pods/http:{pod}:{port}/proxy{path}")
        try:
            return json.loads(answer)
        except ValueError:
            raise UnreachableError(f"{pod} answers {status} without JSON") from None

    def _json(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> Any:
        answer = self._answered(method, path, body, kind)
        try:
            return json.loads(answer) if answer else None
        except ValueError:
            return None

    def _answered(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> bytes:
        status, answer = self._request(method, path, body, kind)
        if status < http.client.BAD_REQUEST:
            return answer
        try:
            content = json.loads(answer)
        except ValueError:
            content = None
        reason = (content or {}).get("message") if isinstance(content, dict) else answer.decode(errors="replace")
        passing = status in (_CONFLICT, http.client.TOO_MANY_REQUESTS) or status >= _SERVER_ERROR
        if passing and not str(reason).startswith(_MALFORMED):
            raise UnreachableError(f"{_shown(method, path)} is answered {status}: {reason}")
        by_connect = isinstance(content, dict) and "error_code" in content
        raise KubernetesError(_shown(method, path), status, str(reason or "no reason given"), by_connect=by_connect)

    def _request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, bytes]:
        place = urlsplit(self._cluster.endpoint)
        connection = http.client.HTTPSConnection(
            place.hostname or "", place.port, timeout=TIMEOUT_S, context=_context(self._cluster.authority)
        )
        headers = {"Authorization": f"Bearer {self._token()}", "Accept": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, content, headers | ({"Content-Type": kind} if content else {}))
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"{place.hostname} can't be reached: {type(error).__name__}: {error}") from None
        finally:
            connection.close()


def if_there(ask: Callable[[], Answer]) -> Answer | None:
    """Return the answer about an object, or a connector; None without one."""
    try:
        return ask()
    except KubernetesError as error:
        if error.status != _NOT_FOUND:
            raise
        return None


def signed_token(cluster: str, region: str | None = None, credentials: Credentials | None = None) -> str:
    """Return a token for a cluster's API, valid for a quarter of an hour.

    Without `region` and `credentials` it is signed with those of the environment.
    """
    region = region or os.environ["AWS_REGION"]
    credentials = credentials or get_session().get_credentials()
    if credentials is None:
        raise UnreachableError("there are no AWS credentials")
    # The signer itself keeps only a weak reference to it.
    events = HierarchicalEmitter()
    signer = RequestSigner(ServiceId("STS"), region, "sts", "v4", credentials, events)
    request = {
        "method": "GET",
        "url": f"https://sts.{region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {"x-k8s-aws-id": cluster},
        "context": {},
    }
    url = signer.generate_presigned_url(request, region_name=region, expires_in=_TOKEN_SECONDS, operation_name="")
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def delete_all(api: Kubernetes, objects: Sequence[Object]) -> list[str]:
    """Delete objects in reverse order; return the names of those that still exist."""
    return [f"{each['kind']} {each['metadata']['name']}" for each in reversed(objects) if api.delete(each)]


def identity(each: Object) -> tuple[str, str, str]:
    return str(each["kind"]), str(each["metadata"].get("namespace", "")), str(each["metadata"]["name"])


@functools.cache
def _context(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=base64.b64decode(authority).decode())


def _path(each: Object) -> str:
    version, metadata = str(each["apiVersion"]), each["metadata"]
    kind = str(each["kind"])
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    inside = "" if kind in _CLUSTER_WIDE else f"/namespaces/{metadata['namespace']}"
    return f"{root}{inside}/{_PLURALS.get(kind, f'{kind.lower()}s')}/{metadata['name']}"


def _shown(method: str, path: str) -> str:
    return f"{method} {path.partition('?')[0]}"
