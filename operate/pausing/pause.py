"""`./lake aws pause -e …` stops what costs by the hour and loses nothing; `./lake aws resume -e …` starts it again.

Each step of a pause checks whether it is already done, so the same command finishes an interrupted pause. A resume
starts the database first; the rest is an ordinary deployment of complete templates: connectors continue from their
stored offsets, the job from its last commit, and alarms are armed last.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import boto3

from contract.errors import NO
from operate import deploy
from operate.errors import OperateError
from operate.outputs import QUICK, check_account, one_line
from operate.pausing import connectors, deployed, objections, waiting
from operate.pausing.arrival import LIMIT_S, Arrival
from operate.pausing.database import AVAILABLE, STOPPED, Aurora
from operate.pausing.deployed import CONNECTORS, GUARD, KUBERNETES, MONITORING, PROCESSING, Deployed
from operate.pausing.waiting import Waiter
from operate.synth import CDK_OUT, Synthesis, synthesize
from settings.connectors import sink_settings
from settings.environment import Environment
from stacks.paused import Paused

GOES_ON = (
    "Goes on, and is paid for: MSK's brokers (provisioned ones can't be stopped), {more}NAT, the VPN server, storage, "
    "logs; what is in the lake can be queried as ever"
)
# For a cluster without nodes.
CONTROL_PLANE = "EKS's control plane (it can't, either), "


@dataclass(frozen=True)
class _Step:
    """A part of a pause, and whether it was done before; `run` is always called: it ensures that it stays done."""

    what: str
    done: bool
    run: Callable[[], None]


def pause(
    environment: Environment, waiter: Waiter, *, confirmed: str | None = None, anyway: bool = False, dry: bool = False
) -> None:
    """Pause an environment; return once nothing that a pause stops still runs. Raises OperateError.

    `confirmed` repeats the environment's name, for production. `anyway`: pause despite objections. `dry`: print the
    steps and change nothing.
    """
    name = environment.name
    if confirmed not in (None, name):
        raise OperateError(f"--confirm {confirmed} names another environment than --env {name}")
    if environment.production and confirmed is None and not dry:
        raise OperateError(
            f"{name} is production, and its database answers nobody while it is paused: `./lake aws pause -e {name} "
            f"--confirm {name}` if that is meant"
        )
    session = check_account(environment)
    with one_line(environment):
        _Pause(environment, waiter, session, anyway=anyway).run(dry=dry)


class _Pause:
    def __init__(self, environment: Environment, waiter: Waiter, session: boto3.Session, *, anyway: bool) -> None:
        self._environment = environment
        self._anyway = anyway
        self._waiter = waiter
        self._session = session
        self._connectors = connectors.of_environment(session, environment, waiter)
        self._emr = session.client("emr", config=QUICK)
        self._aurora = Aurora(session.client("rds", config=QUICK), environment.database_cluster, waiter)
        self._cloudformation = session.client("cloudformation", config=QUICK)
        self._syntheses: dict[Paused, Synthesis] = {}

    def run(self, *, dry: bool) -> None:
        self._deployed.check_settled()
        steps = list(self._steps())
        if dry:
            for step in steps:
                self._waiter.say(f"{'done    ' if step.done else 'to do   '} {step.what}")
        # The last one, Aurora's, deploys nothing: AWS starts it again after a week.
        if not all(step.done for step in steps[:-1]):
            self._check()
        if dry:
            return
        for number, step in enumerate(steps, 1):
            self._waiter.say(f"{number}/{len(steps)} {step.what}{': done before' if step.done else ''}")
            step.run()
        self._say_paused()

    @cached_property
    def _deployed(self) -> Deployed:
        return deployed.look(self._cloudformation, self._environment)

    def _steps(self) -> Iterator[_Step]:
        connectors_out = self._deployed.left_out(CONNECTORS)
        sources_end, sinks_end = connectors_out.leaves_out_sources, connectors_out.leaves_out_all
        yield self._step("no deployment but a resume from now on", GUARD)
        yield self._step("silence all alarms except the brokers' disks", MONITORING)
        yield _Step("source connectors end; slots and offsets stay", sources_end, self._end_sources)
        yield _Step("what they have read arrives in the lake", sinks_end, self._arrive)
        sinks = [sink_settings(self._environment, each).name for each in self._environment.streamed]
        sinks_gone = partial(self._connectors.check_gone, sinks)
        yield self._step("sink connectors end; their progress stays", CONNECTORS, sinks_gone)
        if self._environment.eks is not None:
            nodes_gone = partial(connectors.say_nodes, self._session, self._environment, self._waiter)
            yield self._step("the cluster's add-ons end, and the last nodes with them", KUBERNETES, nodes_gone)
        emr_gone = partial(waiting.check_cluster_gone, self._emr, self._environment.prefix, self._waiter)
        yield self._step("the job ends after its commit, and EMR with it", PROCESSING, emr_gone)
        yield _Step("Aurora stops", self._aurora.status() == STOPPED, self._aurora.stop)

    def _step(self, what: str, stack: str, check_gone: Callable[[], None] = lambda: None) -> _Step:
        """Return the step that leaves out all of a stack; `check_gone` makes sure each time that this has ended."""

        def run() -> None:
            self._deploy(stack, Paused.ALL)
            check_gone()

        return _Step(what, self._deployed.left_out(stack).leaves_out_all, run)

    def _check(self) -> None:
        """Raise OperateError for objections to the pause; one that has already begun is past most of them."""
        name = self._environment.name
        self._connectors.check_no_repair()
        if stacks := deployed.differing(
            self._cloudformation, self._deployed, lambda paused: self._synthesis(paused).templates
        ):
            way = f"`./lake aws deploy -e {name}`" if self._deployed.runs else f"`./lake aws resume -e {name}`"
            raise OperateError(
                f"this checkout makes something else of {name}'s {', '.join(stacks)} than what is deployed (`./lake "
                f"aws diff -e {name} --deployed`), and a pause must change nothing else: {way} "
                "first, or check out what was deployed"
            )
        against = list(objections.outside(self._session, self._environment))
        if not self._deployed.left_out(CONNECTORS).leaves_out_sources:
            against += self._connectors.objections()
        if self._deployed.runs:
            against += objections.ringing(self._session.client("cloudwatch", config=QUICK), self._environment)
        if against and not self._anyway:
            raise OperateError("; ".join(against) + f". `./lake aws pause -e {name} --anyway` pauses even so")
        for line in against:
            self._waiter.say(f"although {line}")

    def _end_sources(self) -> None:
        if not self._deployed.left_out(CONNECTORS).leaves_out_sources:
            # One may have begun while the guard was deployed, which refuses any from then on.
            self._connectors.check_no_repair()
        self._deploy(CONNECTORS, Paused.SOURCES)
        self._connectors.check_gone(self._connectors.sources)

    def _arrive(self) -> None:
        """Wait until topics and landing hold nothing that isn't in the tables."""
        if self._deployed.left_out(CONNECTORS).leaves_out_all:
            return
        client = self._session.client("cloudwatch", config=QUICK)
        arrival = Arrival(client, self._environment, self._waiter.now)
        if not (left := self._waiter.wait(arrival.missing, limit_s=LIMIT_S)):
            return
        settings, name = self._environment, self._environment.name
        kept = (
            f"Kafka keeps it for {settings.streaming.topic_retention_hours} hours from when it was written, the "
            f"landing bucket for {settings.lake.landing_expiry_days} days, paused or not"
        )
        if not self._anyway:
            raise OperateError(
                f"after {LIMIT_S / 60:.0f} minutes still waiting for {left}; {kept}. Only the source connectors have "
                f"ended: this again goes on, `./lake aws resume -e {name}` goes back, `./lake aws pause -e {name} "
                "--anyway` leaves it where it is"
            )
        self._waiter.say(f"  leaving behind: {left}; {kept}")

    def _deploy(self, stack: str, paused: Paused) -> None:
        if self._deployed.left_out(stack) in (paused, Paused.ALL):
            return
        name, folder = self._environment.name, self._synthesis(paused).folder
        full_name = f"{self._environment.prefix}-{stack}"
        if deploy.cdk("deploy", full_name, "--exclusively", "--app", str(folder), "--require-approval", "broadening"):
            raise OperateError(
                f"the deployment of {full_name} failed, for the reason above: `./lake aws pause "
                f"-e {name}` goes on from here, `./lake aws resume -e {name}` goes back"
            )

    def _synthesis(self, paused: Paused) -> Synthesis:
        if paused not in self._syntheses:
            folder = CDK_OUT / f"{self._environment.name}.paused-{paused}"
            self._syntheses[paused] = synthesize(self._environment, folder, paused=paused)
        return self._syntheses[paused]

    def _say_paused(self) -> None:
        name, at = self._environment.name, self._aurora.starts_by_itself()
        again = f"AWS starts Aurora by itself {f'at {at:%Y-%m-%d %H:%M} UTC' if at else 'after seven days'}"
        more = CONTROL_PLANE if self._environment.eks is not None else ""
        self._waiter.say(f"{name} is paused. {GOES_ON.format(more=more)}")
        self._waiter.say(f"`./lake aws costs -e {name} --hours 0` says what that costs a month")
        self._waiter.say(f"{again}, and a mail says so: `./lake aws pause -e {name}` stops it again")
        self._waiter.say(f"`./lake aws resume -e {name}` starts everything where it was")


def resume(environment: Environment, waiter: Waiter) -> int:
    """Resume an environment; return the deployment's status. Raises OperateError."""
    session, name = check_account(environment), environment.name
    with one_line(environment):
        client = session.client("cloudformation", config=QUICK)
        found = deployed.look(client, environment)
        found.check_settled(creates=True)
        aurora = Aurora(session.client("rds", config=QUICK), environment.database_cluster, waiter)
        if found.runs and aurora.status() == AVAILABLE:
            waiter.say(f"{name} isn't paused: nothing to resume")
            return 0
        if found.left_out(PROCESSING).leaves_out_all:
            # Its job would still write the tables, and the new one would wait for them; connectors are taken over.
            waiting.check_cluster_gone(session.client("emr", config=QUICK), environment.prefix, waiter)
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
