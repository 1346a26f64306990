"""`./lake aws`: an environment's templates, review, deployment, pauses and costs."""

from typing import Annotated

import typer

from cli import prepare
from cli.shared import Commands, DryRun, Environment, Json, Patience, Pipeline, Repair, Tables, answer, load, print_json

Against = Annotated[
    str | None,
    typer.Option(metavar="REVISION", help="Compare with this git revision, not with what was reviewed last."),
]
app = Commands("An environment on AWS, a file in environments/.")
PAGES = prepare.ROOT / "build" / "review"


@app.command()
def synth(
    *,
    env: Environment = "dev",
    save: Annotated[
        bool,
        typer.Option("--save", help="Write the snapshots of all environments, which `diff` compares with later."),
    ] = False,
) -> None:
    """Write the environment's templates to cdk.out/, offline.

    Examples: ./lake aws synth -e prod; ./lake aws synth --save
    """
    prepare.wheels()
    from operate import synth
    from operate.diff import snapshots
    from settings.load import names

    # The others' snapshots say what differs from the base's.
    wanted = sorted(names(), key=lambda name: name != snapshots.BASE) if save else [env]
    for name in wanted:
        environment = load(name)
        folder = synth.CDK_OUT / name
        stacks = synth.synthesize(environment, folder).stacks
        if save:
            snapshots.write(environment, stacks)
            typer.echo(f"wrote tests/snapshots/{name}")
        else:
            typer.echo(f"{len(stacks)} templates in {folder.relative_to(prepare.ROOT)}")


@app.command()
def review(*, env: Environment = "dev", against: Against = None, json: Json = False) -> None:
    """Print what the checks find and what matters, and write the page to decide from; exit 1 on an error.

    Example: ./lake aws review -e prod
    """
    _prepare_cdk()
    from operate import synth
    from operate.review.findings import find
    from operate.review.page import changes, page
    from operate.review.render import summary, write

    environment = load(env)
    synthesis = synth.synthesize(environment, synth.CDK_OUT / env, nag=True)
    findings = find(environment, synthesis)
    read = page(environment, synthesis, findings, changes=changes(environment, synthesis, against=against))
    paths = [path.relative_to(PAGES.parents[1]) for path in write(read, PAGES)]
    if json:
        print_json({"environment": env, "verdict": read.verdict, "pages": paths})
    else:
        typer.echo(summary(read, paths))
    answer(yes=not any(finding.level == "error" for finding in findings))


@app.command()
def diff(
    *,
    env: Environment = "dev",
    against: Against = None,
    deployed: Annotated[
        bool, typer.Option("--deployed", help="Compare with what is deployed, not with what was reviewed.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Compare with and without another value of a setting; may be given again.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print what a deployment would change, in words and as a diff; changes are no error.

    Examples: ./lake aws diff; ./lake aws diff -e prod --deployed; ./lake aws diff --set streaming.brokers=4
    """
    prepare.wheels()
    from operate import synth
    from operate.diff import comparison, snapshots
    from operate.diff.assigned import assigned

    environment = load(env)
    if settings:
        changed = assigned(environment, settings)
        before = synth.synthesize(environment, synth.CDK_OUT / env).stacks
        after = synth.synthesize(changed, synth.CDK_OUT / f"{env}.set").stacks
        found = comparison.changes_between(environment, "the settings as they are", before, after)
    else:
        stacks = synth.synthesize(environment, synth.CDK_OUT / env).stacks
        if deployed:
            found = comparison.changes_between(environment, "what is deployed", snapshots.deployed(environment), stacks)
        else:
            found = comparison.changes(environment, stacks, against=against)
    if json:
        print_json(found)
    else:
        typer.echo(comparison.text(found), nl=False)


@app.command()
def bootstrap(*, env: Environment = "dev") -> None:
    """Create CDK's bucket and roles in the environment's account, once.

    Example: ./lake aws bootstrap -e dev
    """
    prepare.node_modules()
    from operate import deploy

    raise typer.Exit(deploy.bootstrap(load(env)))


@app.command()
def deploy(*, env: Environment = "dev") -> None:
    """Review the environment and deploy exactly what was reviewed.

    Example: ./lake aws deploy -e prod
    """
    prepare.wheels()
    prepare.certificates()
    from operate import deploy

    raise typer.Exit(deploy.deploy(load(env)))


@app.command()
def adopt(*, env: Environment = "dev") -> None:
    """Import what deleted stacks left behind, before the next deployment.

    Example: ./lake aws adopt -e prod
    """
    _prepare_cdk()
    from operate import deploy

    raise typer.Exit(deploy.adopt(load(env)))


@app.command()
def destroy(*, env: Environment = "dev") -> None:
    """Delete the environment's stacks; resources with a retain policy stay.

    Example: ./lake aws destroy -e dev
    """
    _prepare_cdk()
    from operate import deploy

    raise typer.Exit(deploy.destroy(load(env)))


@app.command()
def pause(
    *,
    env: Environment = "dev",
    confirm: Annotated[str | None, typer.Option(metavar="NAME", help="The environment again, for production.")] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Pause even if there are objections.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Stop what costs by the hour (EMR, MSK Connect, Aurora) without losing changes; if interrupted, run it again.

    Examples: ./lake aws pause -e dev; ./lake aws pause -e prod --confirm prod
    """
    _prepare_cdk()
    from operate.pausing.pause import pause
    from operate.pausing.waiting import Waiter

    pause(load(env), Waiter(), confirmed=confirm, anyway=anyway, dry=dry_run)


@app.command()
def resume(*, env: Environment = "dev") -> None:
    """Start what a pause stopped; each part resumes.

    Example: ./lake aws resume -e dev
    """
    prepare.wheels()
    prepare.certificates()
    from operate.pausing.pause import resume
    from operate.pausing.waiting import Waiter

    raise typer.Exit(resume(load(env), Waiter()))


@app.command()
def manifests(*, env: Environment = "dev") -> None:
    """Print the environment's Kubernetes objects, for review and `kubectl diff -f -`.

    Example: ./lake aws manifests -e dev | kubectl diff -f -
    """
    prepare.wheels()
    from operate import synth
    from operate.kubernetes import manifests

    folder = synth.CDK_OUT / env
    typer.echo(manifests(load(env), lambda environment: synth.synthesize(environment, folder).templates))


@app.command()
def costs(
    *,
    env: Annotated[
        str, typer.Option("--env", "-e", metavar="NAME", help="The environment, or `all` to compare them.")
    ] = "dev",
    hours: Annotated[
        float | None, typer.Option(min=0, max=7 * 24, help="Hours a week that it runs; it is paused otherwise.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the monthly costs, always on or by weekly hours, and what a pause switches off.

    Examples: ./lake aws costs -e dev --hours 40; ./lake aws costs -e all
    """
    from settings.load import names

    environments = [load(name) for name in (names() if env == "all" else [env])]
    prepare.wheels()
    from operate import synth
    from operate.costs.prices import load_prices
    from operate.costs.report import SHOWN_HOURS, figures_of, overview, report

    prices = load_prices()
    apps = [synth.synthesize(each, synth.CDK_OUT / each.name).app(each) for each in environments]
    if json:
        print_json([figures_of(app, prices, hours) for app in apps])
    elif env == "all":
        typer.echo(overview(apps, prices, SHOWN_HOURS if hours is None else hours))
    else:
        typer.echo(report(apps[0], prices, hours))


@app.command()
def reconcile(
    *,
    env: Environment = "dev",
    pipeline: Pipeline = None,
    table: Tables = None,
    repair: Repair = False,
    timeout_s: Patience = 600,
    json: Json = False,
) -> None:
    """Compare every row and column of a pipeline's source with the lake; exit 1 when they differ. It takes the VPN.

    Examples: ./lake aws reconcile -e dev; ./lake aws reconcile -e dev -p crm -t public.people --repair
    """
    from rich.console import Console

    from local.console import console
    from operate.kafka.cluster import find_pipeline
    from operate.resnapshot.tables import reconcile_environment, report_of

    environment = load(env)
    found = find_pipeline(environment, pipeline)
    shown = Console(stderr=True) if json else console
    equal = reconcile_environment(environment, found, table or (), shown, repair=repair, timeout_s=timeout_s)
    if json:
        typer.echo(report_of(environment, found).read_text(encoding="utf-8"), nl=False)
    answer(yes=equal)


@app.command()
def vpn(name: Annotated[str, typer.Argument(help="One of vpn.users.")], *, env: Environment = "dev") -> None:
    """Print the login of this VPN user; your AWS credentials must be allowed to read it.

    Example: ./lake aws vpn alice -e dev
    """
    from operate import vpn
    from operate.text import columns

    typer.echo("\n".join(columns(vpn.connection(load(env), name), left=2)))


def _prepare_cdk() -> None:
    prepare.wheels()
    prepare.node_modules()
