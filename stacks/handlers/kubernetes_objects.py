"""Custom resource: objects on an EKS cluster that need no waiting: a namespace and its access rules.

Request: `cluster` (`name`, `endpoint`, `authority`) and `objects`, in the order of creation. No attributes. An update
deletes objects that it no longer names; a deletion deletes all of them, the last ones first.
"""

import functools
from typing import Any

from plugins.workers.kubernetes_api import Cluster, Kubernetes, KubernetesError, UnreachableError, delete_all, identity
from stacks.handlers import framework, journal
from stacks.handlers.framework import Done, Event, Progress, ResourceError, Waiting

Objects = list[dict[str, Any]]
_request = functools.partial(framework.request, required={"cluster": dict, "objects": list})
# EKS propagates a new access entry; until then the cluster doesn't know the role.
SPREADS_SECONDS = 300
_UNKNOWN, _FORBIDDEN = 401, 403


def start(event: Event) -> str:
    wanted = _request(event)
    return str(event.get("PhysicalResourceId", f"{wanted['cluster']['name']}/objects"))


def settle(event: Event) -> Progress:
    """Apply all of them; wait if the API isn't reachable yet."""
    wanted = _request(event)
    return _changed(event, wanted, apply=wanted["objects"], delete=no_longer(event, wanted["objects"]))


def remove(event: Event) -> Progress:
    wanted = framework.if_accepted(lambda: _request(event))
    return Done() if wanted is None else _changed(event, wanted, apply=[], delete=wanted["objects"])


def _changed(event: Event, wanted: dict[str, Any], *, apply: Objects, delete: Objects) -> Progress:
    api = Kubernetes(Cluster.of_request(wanted["cluster"]))
    try:
        with journal.acting(event, seconds=journal.RUN_SECONDS):
            for each in apply:
                api.apply(each)
            left = delete_all(api, delete)
    except (UnreachableError, KubernetesError) as error:
        return refused(event, error)
    return Waiting(f"{', '.join(left)} to be gone") if left else Done()


def refused(event: Event, error: Exception) -> Waiting:
    """Return what to wait for after an API error. Raises ResourceError if it isn't transient."""
    spreads = framework.now() < event["Started"] + SPREADS_SECONDS
    unknown = isinstance(error, KubernetesError) and error.status in (_UNKNOWN, _FORBIDDEN)
    if isinstance(error, UnreachableError) or (unknown and spreads):
        return Waiting(str(error))
    raise ResourceError(str(error)) from None


def no_longer(event: Event, objects: Objects) -> Objects:
    """Return the previous request's objects that this one lacks."""
    before = framework.old_request(event, required={"objects": list})
    there = {identity(each) for each in objects}
    return [each for each in (before or {}).get("objects", []) if identity(each) not in there]


on_event, is_complete = journal.handler(start=start, settle=settle, remove=remove).functions
