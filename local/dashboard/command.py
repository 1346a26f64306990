"""The command `python -m local dashboard`: `make dashboard`."""

from typing import Annotated

import typer

from local.cli import Folder, PipelineName, app, console, find_platform, one_line_errors
from local.errors import PlatformError
from local.setup.ports import HOST, is_free

PORT = 8765


@app.command()
def dashboard(
    *,
    folder: Folder = None,
    pipeline: PipelineName = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where the page is served, on loopback.")] = PORT,
) -> None:
    """Serve the live page of a running platform until Ctrl-C; it shows everything and changes nothing."""
    with one_line_errors("dashboard"):
        platform = find_platform(folder, pipeline)
        if not platform.expected():
            raise PlatformError(f"the platform in {platform.state_dir} is down: `make up` starts it")
        if not is_free(port):
            raise PlatformError(f"port {port} on {HOST} is taken: PORT= chooses another one")
        # Its packages take a second to import: the other commands don't wait for them.
        from local.dashboard.server import serve
        from local.dashboard.watcher import Watcher

        console.print(
            f"http://{HOST}:{port} shows pipeline {platform.options.pipeline}; Ctrl-C ends it", highlight=False
        )
        serve(Watcher(platform), port)
