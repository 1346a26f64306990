"""Our model of CDK's provider framework answers as CDK's own does, which runs in Node.js."""

import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import aws_cdk
import pytest

from stacks.node import NODE
from tests.stacks.handlers import provider_framework
from tests.stacks.handlers.provider_framework import CREATE_FAILED, Answer, Payload, UserError

pytestmark = pytest.mark.synth

RUNTIME = "package/custom-resources/lib/provider-framework/runtime/"
# Calls framework.js for each case, with Lambda, Step Functions and CloudFormation replaced by the given answers.
DRIVER = r"""
const Module = require('module'), path = require('path');
const load = Module._load;
Module._load = (name, ...rest) => name.startsWith('@aws-sdk') ? {} : load(name, ...rest);
const runtime = process.argv[1];
const outbound = require(path.join(runtime, 'outbound.js'));
const framework = require(path.join(runtime, 'framework.js'));
console.log = () => {};
Object.assign(process.env, {USER_ON_EVENT_FUNCTION_ARN: 'a:on', USER_IS_COMPLETE_FUNCTION_ARN: 'a:is',
  WAITER_STATE_MACHINE_ARN: 'a:waiter'});
(async () => {
  const results = [];
  for (const {fn, event, user} of JSON.parse(require('fs').readFileSync(0))) {
    let result = {}, calls = 0;
    outbound.invokeFunction = async () => { calls++; return user.error !== undefined
      ? {FunctionError: 'Unhandled', Payload: JSON.stringify({errorMessage: user.error})}
      : {Payload: JSON.stringify(user.result)}; };
    outbound.startExecution = async request => { result.waiting = JSON.parse(request.input); };
    outbound.httpRequest = async (options, body) => { result.answer = JSON.parse(body); };
    try { await framework[fn](event); } catch (error) { result.retry = error.message; }
    results.push({...result, calls});
  }
  process.stdout.write(JSON.stringify(results));
})();
"""


def event(kind: str, **more: Any) -> Payload:
    common = {"RequestType": kind, "RequestId": "r-1", "StackId": "s", "LogicalResourceId": "L"}
    return {**common, "ResponseURL": "https://example.org/x", "ResourceProperties": {"Request": "{}"}, **more}


def case(function: str, request: Payload, **user: Any) -> Payload:
    return {"fn": function, "event": request, "user": user}


WAITING = event("Create", PhysicalResourceId="ours", Started=5)
UPDATE, DELETE = event("Update", PhysicalResourceId="ours"), event("Delete", PhysicalResourceId="x")
CASES = {
    "a creation waits": case("onEvent", event("Create"), result={"PhysicalResourceId": "ours", "Started": 5}),
    "an id isn't given": case("onEvent", event("Create"), result={}),
    "a creation's first call fails": case("onEvent", event("Create"), error="boom"),
    "an update's first call fails": case("onEvent", UPDATE, error="boom"),
    "an update names another": case("onEvent", UPDATE, result={"PhysicalResourceId": "other"}),
    "a deletion waits": case("onEvent", DELETE, result={"PhysicalResourceId": "x", "Started": 5}),
    "a deletion's first call fails": case("onEvent", DELETE, error="boom"),
    "a deletion names another": case("onEvent", DELETE, result={"PhysicalResourceId": "y"}),
    "what never was is deleted": case("onEvent", event("Delete", PhysicalResourceId=CREATE_FAILED), error="not called"),
    "not yet complete": case("isComplete", WAITING, result={"IsComplete": False}),
    "complete": case("isComplete", WAITING, result={"IsComplete": True, "Data": {"Arn": "a"}}),
    "a call fails": case("isComplete", WAITING, error="boom"),
    "data too early": case("isComplete", WAITING, result={"IsComplete": False, "Data": {"Arn": "a"}}),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of CDK's own code for each case."""
    folder = tmp_path_factory.mktemp("framework")
    (library,) = (Path(aws_cdk.__file__).parent / "_jsii").glob("aws-cdk-lib@*.tgz")
    with tarfile.open(library, "r|gz") as packed:
        for member in packed:
            wanted = member.name.startswith(RUNTIME) and member.name.endswith(".js")
            if wanted and (content := packed.extractfile(member)):
                (folder / member.name).parent.mkdir(parents=True, exist_ok=True)
                (folder / member.name).write_bytes(content.read())
    driven = subprocess.run(
        [NODE, "-e", DRIVER, folder / RUNTIME],
        input=json.dumps(list(CASES.values())),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return dict(zip(CASES, json.loads(driven.stdout), strict=True))


def modelled(case: Payload) -> tuple[Answer | Payload | None, int]:
    calls = 0

    def user(_payload: Payload) -> Payload:
        nonlocal calls
        calls += 1
        if "error" in case["user"]:
            raise UserError(case["user"]["error"])
        result: Payload = case["user"]["result"]
        return result

    if case["fn"] == "onEvent":
        return provider_framework.on_event(user, case["event"]), calls
    return provider_framework.is_complete(user, case["event"]), calls


@pytest.mark.parametrize("name", CASES)
def test_the_model_answers_as_cdk_does(real: dict[str, Any], name: str) -> None:
    result, calls = modelled(CASES[name])
    found = real[name]
    assert found["calls"] == calls
    if result is None:
        assert "retry" in found
        assert json.loads(found["retry"]) == CASES[name]["event"]
    elif isinstance(result, Answer):
        answer = found["answer"]
        assert (answer["Status"], answer["PhysicalResourceId"]) == (result.status, result.physical_id)
        assert answer.get("Data", {}) == result.data
        assert result.reason in answer["Reason"]
    else:
        assert found["waiting"] == result
