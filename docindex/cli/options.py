"""What all commands share in how they are called: the kinds of commands, and the options that many have."""

import difflib
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

F = TypeVar("F", bound=Callable[..., Any])

FORMS = {
    "json": "print one JSON value",
    "jsonl": "print a JSON object a line",
    "csv": "print comma-separated values",
}


class Command(click.Command):
    """A command, with the options that all of them have."""

    def __init__(self, *arguments: Any, **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        quiet = "show results only: no progress, no remarks"
        self.params += [
            click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=_note, help=quiet),
            click.Option(
                ["--debug"], is_flag=True, expose_value=False, help="show where an error comes from"
            ),
        ]


class CommandGroup(click.Group):
    """Several commands under one name, which alone tells about them."""

    command_class = Command

    def __init__(self, *arguments: Any, **facts: Any) -> None:
        super().__init__(*arguments, **{"invoke_without_command": True, **facts})

    def invoke(self, ctx: click.Context) -> Any:
        """Run the one that was named."""
        found = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The one that was named; `click.UsageError` if there is none."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            like = difflib.get_close_matches(args[0], names, n=1)
            advice = f"did you mean {like[0]}?" if like else f"{ctx.command_path} --help lists them"
            raise click.UsageError(f"there is no command {args[0]!r}; {advice}", ctx)
        return super().resolve_command(ctx, args)


def _note(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    ctx.meta[f"docindex.{param.name}"] = given


def is_quiet() -> bool:
    """Whether the person asked for results only."""
    return bool(click.get_current_context().meta.get("docindex.quiet"))


def one_of(name: str, choices: dict[str, str]) -> Callable[[F], F]:
    """Options that exclude each other: the command gets the one that was given as `name`, or None."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def called(*arguments: Any, **options: Any) -> Any:
            given = [choice for choice in choices if options.pop(f"_{choice}")]
            if len(given) > 1:
                both = " and ".join(f"--{choice}" for choice in given)
                raise click.UsageError(f"{both} exclude each other; give one of them")
            return command(*arguments, **{name: given[0] if given else None}, **options)

        found = cast("F", called)
        for choice, text in reversed(choices.items()):
            found = click.option(f"--{choice}", f"_{choice}", is_flag=True, help=text)(found)
        return found

    return decorate


form_options = one_of("form", FORMS)
"""The options that say in which form results are printed."""


def index_option(command: F) -> F:
    """The option that names the index."""
    text = "the index; if not given, the one that DOCINDEX names, or your own"
    option = click.option("--index", "index_path", metavar="FILE", envvar="DOCINDEX", help=text)
    return option(command)


def share_option(name: str, default: float | None, text: str) -> Callable[[F], F]:
    """An option that is a share: more than 0, and at most 1."""
    share = click.FloatRange(0, 1, min_open=True)
    return click.option(name, type=share, default=default, show_default=default is not None, help=text)


def common_option(command: F) -> F:
    """The option that says what is too common to count."""
    text = "what more texts have does not count"
    option = click.option(
        "--ignore-common", "ignore_above", type=click.IntRange(1), default=1000, show_default=True, help=text
    )
    return option(command)
