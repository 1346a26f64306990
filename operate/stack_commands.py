"""The commands that change or look at stacks: `python -m operate.stack_commands --help`.

Apart from operate/cli.py, since importing CDK takes longer than what those commands do.
"""

from pathlib import Path
from typing import Annotated

import typer

from contract.errors import one_line_errors
from operate import deploy, diff, review, synth
from operate.diff import render, snapshots
from operate.manifests import manifests
from operate.pausing.pause import Options, pause
from operate.pausing.resume import resume
from operate.pausing.waiting import Waiter
from operate.review.changes import changes
from operate.review.page import page
from operate.review.render import write
from operate.review.summary import summary
from settings.load import load, names

PAGES = Path(__file__).resolve().parents[1] / "build" / "review"
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help="Stacks on AWS.")
OnAws = Annotated[str, typer.Option("--env", metavar="NAME", help="The environment, a file in environments/.")]
Against = Annotated[bool, typer.Option("--deployed", help="Compare with what is deployed, not with the snapshot.")]


@app.command("review")
def show_review(*, env: OnAws = "dev") -> None:
    """Say what the checks find and what matters, and write the page that one decides from; fail on an error."""
    with one_line_errors("review"):
        environment = load(env)
        synthesis = synth.synthesize(environment, synth.CDK_OUT / env, nag=True)
        findings = review.find(environment, synthesis)
        read = page(environment, synthesis, findings, changes=changes(environment, synthesis))
        paths = write(read, PAGES)
        typer.echo(summary(read, [path.relative_to(PAGES.parents[1]) for path in paths]))
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


@app.command("diff")
def show_changes(*, env: OnAws = "dev", deployed: Against = False) -> None:
    """Print what a deployment would change, in words and as a diff; changes are no error."""
    with one_line_errors("diff"):
        environment = load(env)
        synthesis = synth.synthesize(environment, synth.CDK_OUT / env)
        found = diff.changes(environment, synthesis.templates, against_deployed=deployed)
        typer.echo(render.text(found), nl=False)


@app.command("snapshots")
def write_snapshots() -> None:
    """Write the templates of every environment to tests/snapshots, for `diff` and for whoever reviews a commit."""
    with one_line_errors("snapshots"):
        for name in sorted(names(), key=lambda name: name != snapshots.BASE):
            environment = load(name)
            snapshots.write(environment, synth.synthesize(environment, synth.CDK_OUT / name).templates)
            typer.echo(f"wrote {snapshots.shown(environment)}")


@app.command("manifests")
def show_manifests(*, env: OnAws = "dev") -> None:
    """Print what the environment puts on its Kubernetes cluster, for `kubectl diff -f -` and for who reviews it."""
    with one_line_errors("manifests"):
        folder = synth.CDK_OUT / env
        typer.echo(manifests(load(env), lambda environment: synth.synthesize(environment, folder).templates))


@app.command("bootstrap")
def bootstrap_account(*, env: OnAws = "dev") -> None:
    """Make CDK's bucket and roles in the environment's account, once."""
    with one_line_errors("bootstrap"):
        raise typer.Exit(deploy.bootstrap(load(env)))


@app.command("deploy")
def deploy_stacks(*, env: OnAws = "dev") -> None:
    """Review the environment and deploy exactly what was reviewed."""
    with one_line_errors("deploy"):
        raise typer.Exit(deploy.deploy(load(env)))


@app.command("destroy")
def destroy_stacks(*, env: OnAws = "dev") -> None:
    """Delete the environment's stacks; what is kept by its removal policy stays."""
    with one_line_errors("destroy"):
        raise typer.Exit(deploy.destroy(load(env)))


@app.command("pause")
def pause_environment(
    *,
    env: OnAws = "dev",
    confirm: Annotated[str | None, typer.Option(metavar="NAME", help="The environment again, for production.")] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Although something speaks against it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how far it is paused; change nothing.")] = False,
) -> None:
    """Stop what costs by the hour (EMR, MSK Connect, Aurora) and lose nothing; what was broken off goes on."""
    with one_line_errors("pause"):
        pause(load(env), Options(confirmed=confirm, anyway=anyway, dry=dry_run), Waiter(_say))


@app.command("resume")
def resume_environment(*, env: OnAws = "dev") -> None:
    """Start what a pause has stopped, each part where it was."""
    with one_line_errors("resume"):
        raise typer.Exit(resume(load(env), Waiter(_say)))


def _say(line: str) -> None:
    """Print at once: CDK writes in between."""
    print(line, flush=True)


@app.command("adopt")
def adopt_kept(*, env: OnAws = "dev") -> None:
    """Take over what deleted stacks of the environment have left, before it is deployed again."""
    with one_line_errors("adopt"):
        raise typer.Exit(deploy.adopt(load(env)))


if __name__ == "__main__":
    app(prog_name="python -m operate.stack_commands")
