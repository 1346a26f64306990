"""`./lake aws resume -e …`: starts what a pause has stopped, each part where it was.

The database first; the rest is an ordinary deployment of complete templates: connectors continue from their stored
offsets, the job from its last commit, and alarms are armed last.
"""

from contract.errors import NO
from operate import deploy
from operate.outputs import QUICK, check_account, one_line
from operate.pausing import deployed, leftovers
from operate.pausing.database import AVAILABLE, Aurora
from operate.pausing.deployed import PROCESSING
from operate.pausing.waiting import Waiter
from operate.synth import CDK_OUT, synthesize
from settings.environment import Environment


def resume(environment: Environment, waiter: Waiter) -> int:
    """Resume an environment; return the deployment's status. Raises OperateError."""
    session, name = check_account(environment), environment.name
    with one_line(environment):
        client = session.client("cloudformation", config=QUICK)
        found = deployed.look(client, environment)
        found.check_settled()
        aurora = Aurora(session.client("rds", config=QUICK), environment.database_cluster, waiter)
        if found.runs and aurora.status() == AVAILABLE:
            waiter.say(f"{name} isn't paused: nothing to resume")
            return 0
        if found.left_out(PROCESSING).leaves_out_all:
            # Its job would still write the tables, and the new one would wait for them; connectors are taken over.
            leftovers.check_cluster_gone(session.client("emr", config=QUICK), environment.prefix, waiter)
        folder = CDK_OUT / f"{name}.deployed"
        if newer := deployed.differing(
            client, found, lambda paused: synthesize(environment, folder, paused=paused).templates
        ):
            waiter.say(
                f"this checkout makes something else of {', '.join(newer)} than what was paused: that is deployed, too"
            )
        waiter.say("1/2 Aurora starts")
        aurora.start()
    waiter.say("2/2 connectors, EMR and its job start, then the alarms are armed")
    status = deploy.deploy(environment, resumes=True)
    if status not in (0, NO):
        waiter.say(f"{name} isn't whole yet, for the reason above: `./lake aws resume -e {name}` goes on from here")
        return status
    waiter.say(f"{name} runs. Alarms that rang in the pause go back to OK within a quarter of an hour")
    return status
