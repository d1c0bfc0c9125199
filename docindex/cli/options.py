"""The classes of commands, and the options that several commands share.

Must not import the index: the help is shown without it.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

F = TypeVar("F", bound=Callable[..., Any])

FORMS = {
    "json": "Print one JSON value.",
    "jsonl": "Print one JSON object per line.",
    "csv": "Print comma-separated values.",
}


class Command(click.Command):
    """A command with the options that all commands have."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        quiet = "Print results only: no progress bar and no remarks."
        self.params += [
            click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=_remember, help=quiet),
            click.Option(
                ["--debug"], is_flag=True, expose_value=False, help="Print a traceback if there is an error."
            ),
        ]


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[f"docindex.{param.name}"] = value


def is_quiet() -> bool:
    """Whether --quiet was given."""
    context = click.get_current_context(silent=True)  # another thread has none
    return context is not None and bool(context.meta.get("docindex.quiet"))


def one_of(name: str, choices: dict[str, str]) -> Callable[[F], F]:
    """Options that exclude each other. Their command receives the given option, or None, as `name`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_choice(*arguments: Any, **options: Any) -> Any:
            given = [choice for choice in choices if options.pop(f"_{choice}")]
            if len(given) > 1:
                names = " and ".join(f"--{choice}" for choice in given)
                raise click.UsageError(f"{names} cannot be used together; give only one of them")
            return command(*arguments, **{name: given[0] if given else None}, **options)

        decorated = cast("F", with_choice)
        for choice, text in reversed(choices.items()):
            decorated = click.option(f"--{choice}", f"_{choice}", is_flag=True, help=text)(decorated)
        return decorated

    return decorate


def as_value(name: str, make: Callable[..., Any], *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Options whose values a command receives as one value, `name`, which `make` makes of them."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_value(*arguments: Any, **values: Any) -> Any:
            own = {option: values.pop(option) for option in names}
            return command(*arguments, **{name: make(**own)}, **values)

        before = len(getattr(command, "__click_params__", ()))
        decorated: Any = with_value
        for option in reversed(options):
            decorated = option(decorated)
        names = [option.name for option in decorated.__click_params__[before:]]
        return cast("F", decorated)

    return decorate


form_options = one_of("form", FORMS)
"""The options for the form in which results are printed."""


dry_run_option = click.option(
    "--dry-run/--no-dry-run", default=True, show_default=True, help="Only show what would be done."
)
DRY_RUN = "nothing was changed; repeat the command with --no-dry-run to do it"
"""What a command says at the end of a dry run."""


def index_option(command: F) -> F:
    """The option that names the index."""
    text = (
        "The index file. Default: the file that the environment variable DOCINDEX names, that of your "
        "settings, or your default index, which is in your data folder."
    )
    option = click.option(
        "--index", "index_path", metavar="FILE", envvar="DOCINDEX", callback=_index_of_settings, help=text
    )
    return option(command)


def share_option(name: str, default: float | None, text: str) -> Callable[[F], F]:
    """An option that takes a share: more than 0, and at most 1."""
    share = click.FloatRange(0, 1, min_open=True)
    share.name = "share, such as 0.5"
    return click.option(
        name, type=share, metavar="SHARE", default=default, show_default=default is not None, help=text
    )


def common_option(command: F) -> F:
    """The option that sets how common a shingle must be to be ignored."""
    option = click.option(
        "--ignore-common",
        "ignore_above",
        metavar="N",
        type=click.IntRange(1),
        default=1000,
        show_default=True,
        help="Ignore runs of words (shingles) found in more than N texts.",
    )
    return option(command)


def archives_option(command: F) -> F:
    """The option that also reads what is inside archives."""
    text = "Also read the files inside zip and tar archives."
    return click.option("--archives", is_flag=True, help=text)(command)


def encoding_option(command: F) -> F:
    """The option that forces the encoding of text files; `click.UsageError` if Python does not know it."""
    option = click.option(
        "--encoding",
        metavar="NAME",
        callback=_known_encoding,
        help="Read plain text in this encoding, for example latin-1, instead of detecting it. Also used for "
        "web pages, mail, tables and other text formats, unless a file declares its encoding or has a byte "
        "order mark.",
    )
    return option(command)


def verbose_option(text: str) -> Callable[[F], F]:
    """The option that asks for more details; `text` says which."""
    return click.option("-v", "--verbose", is_flag=True, help=text)


def _index_of_settings(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value:
        return value
    from docindex.cli.settings import read_settings  # the help needs no settings

    return read_settings().index_path


def _known_encoding(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        from docindex.frontends.encodings.text import check_encoding  # most commands run without it

        try:
            check_encoding(value)
        except ValueError as error:
            raise click.UsageError(f"--encoding: {error}", ctx) from error
    return value
