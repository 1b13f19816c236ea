"""Reference pages that are written from the code: the command line and the endpoints of the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import typer

from sojourn_api.app import create_app
from sojourn_api.settings import Settings
from sojourn_ingest.cli import application


def command_line() -> str:
    """Return a page with every command, its help, arguments and options."""
    lines = [
        "# Command line",
        "",
        "Every command of `sojourn`, with the text of its `--help` (generated from the code).",
        "",
    ]
    root = typer.main.get_command(application())
    for path, command in _commands(root, ("sojourn",)):
        lines += _command(path, command)
    return "\n".join(lines) + "\n"


def api_endpoints() -> str:
    """Return a page with every endpoint of the API and its parameters."""
    document = create_app(Settings()).openapi()
    lines = [
        "# API endpoints",
        "",
        "Every endpoint with its parameters, from the service's own OpenAPI document (generated from the code). "
        "A running service shows the same at `/docs`, where each can be tried; "
        "[HTTP API](../api.md) explains filters, formats and errors.",
        "",
    ]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            lines += _operation(path, method, operation)
    return "\n".join(lines) + "\n"


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    children = getattr(command, "commands", {})
    if not children:
        yield path, command
    for name, child in children.items():
        yield from _commands(child, (*path, name))


def _command(path: tuple[str, ...], command: click.Command) -> list[str]:
    context = click.Context(command, info_name=" ".join(path))
    lines = [f"## {' '.join(path)}", "", "```text", command.get_usage(context).removeprefix("Usage: "), "```", ""]
    for paragraph in (command.help or "").split("\n\n"):
        text = paragraph.strip()
        # Help shows an example as a paragraph of its own, which starts with the command.
        lines += ["```sh", text, "```", ""] if text.startswith(("sojourn ", "curl ", "make ")) else [_escaped(text), ""]
    rows = [_parameter(parameter, context) for parameter in command.params if not getattr(parameter, "hidden", False)]
    if rows:
        lines += ["| argument or option | meaning | default |", "| --- | --- | --- |", *rows, ""]
    return lines


def _parameter(parameter: click.Parameter, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = f"`{parameter.make_metavar(context)}`"
    default = parameter.get_default(context, call=False)
    shown = getattr(parameter, "show_default", None)
    text = shown if isinstance(shown, str) else "" if default in (None, False, (), []) else f"`{default}`"
    return f"| {names} | {_escaped(getattr(parameter, 'help', None) or '')} | {text} |"


def _operation(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    lines = [f"## {method.upper()} {path}", "", _escaped(operation.get("description", operation["summary"])), ""]
    parameters = operation.get("parameters", [])
    if parameters:
        lines += ["| parameter | in | meaning |", "| --- | --- | --- |"]
        for parameter in parameters:
            schema = parameter.get("schema", {})
            values = schema.get("enum")
            choices = f" One of {', '.join(f'`{value}`' for value in values)}." if values else ""
            meaning = parameter.get("description") or schema.get("title", "")
            lines.append(f"| `{parameter['name']}` | {parameter['in']} | {_escaped(meaning)}{choices} |")
        lines.append("")
    return lines


def _escaped(text: str) -> str:
    """Return text on one line, in which a table's bar and a URL in angle brackets stay what they are."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
