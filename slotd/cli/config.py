"""`slotd config`: every value in force and where it came from.

Here: the listing. Not here: which values there are (`slotd.config`).
"""

import json

import click

from slotd.cli.sources import configuration_options, load
from slotd.config.configuration import Sources
from slotd.config.kinds import Value


@click.command()
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def config(sources: Sources, as_json: bool) -> None:
    """Print the settings in force, and where each came from.

    The command line is stronger than the environment, that than the file, that than the defaults.
    The options are those of 'slotd run': with the same ones, what it would run with is printed.
    """
    configuration = load(sources)
    if as_json:
        rows = {
            name: {
                "value": setting.value,
                "origin": setting.origin,
                "environment": setting.option.environment,
                "default": setting.option.default,
            }
            for name, setting in configuration.settings.items()
        }
        click.echo(json.dumps(rows, indent=2))
        return
    widths = [
        max(len(column) for column in columns)
        for columns in zip(
            *((name, _shown(s.value)) for name, s in configuration.settings.items()), strict=True
        )
    ]
    for name, setting in configuration.settings.items():
        value = _shown(setting.value)
        click.echo(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {setting.origin}")


def _shown(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if value.isprintable() else repr(value)
    return f"{value:g}"
