"""How a step on EMR is told where its stop file is: the stack writes the token, the handler puts the address there."""

TOKEN = "{stop_file}"  # noqa: S105 - a place in a command line
