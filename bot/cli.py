"""The command line: `sutradhar [--config FILE] [--data DIR] COMMAND`.

Parses arguments and calls the command, which imports heavy modules itself, so that --help is fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from bot import __version__
from bot.encoding import accept_all
from bot.words import PROGRAM, Words, locale_from, words
from bot.works import ON_THE_COMMAND_LINE

TYPE_CHECKING = False  # typing's own would cost a tenth of what --help may take
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, BinaryIO

    from bot.config import Config
    from bot.verb import Verb

OK, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes; 130 is what a shell says of a program that Ctrl-C ended (128 + SIGINT)."""
_OWN_PACKAGES = ("bot", "cogs", "storage")
"""The project's packages: if one of their modules is missing, the bot is broken."""
BAD_LINES = 20
"""The most skipped lines of an imported log that are listed."""


_CONFIGURATION_FAULTS = (
    "config.",
    "models.unknown",
    "eval.",
    "probe.",
    "discord_doctor.",
    "discord_run.token_refused",
    "discord_run.intent_off",
    "discord_run.shards",
    "serving.nothing",
    "operate.",
    "slack_run.half_client",
    "slack_run.missing_scope",
    "slack_run.no_",
    "slack_run.port",
    "slack_run.removed",
    "slack_run.socket_off",
    "slack_run.swapped_",
    "slack_run.token_",
)
"""How the keys of faults begin that need a change of the configuration: trying again would not help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    accept_all()
    locale = locale_from(os.environ)
    Words.to_operator = True
    try:
        typed = sys.argv[1:] if argv is None else argv
        arguments = parser(words(locale), typed).parse_args(typed)
        code = _command(vars(arguments), locale)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(words(locale)("cli.interrupted"), file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except ModuleNotFoundError as fault:  # another Python than the one for which the bot was installed
        if fault.name is None or fault.name.partition(".")[0] in _OWN_PACKAGES:
            raise
        print(words(locale)("cli.no_package", package=fault.name, python=sys.executable), file=sys.stderr)
        return WRONG_USE
    except OSError as fault:  # standard output, on a full disk
        print(words(locale)("cli.unwritten", reason=fault.strerror or fault), file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    finally:
        Words.to_operator = False
    return code


def parser(say: Words, argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of commands and options. A work's own are included only if `argv` names it; global options may come
    before or after the command.
    """
    shared = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    shared.add_argument("--config", metavar="FILE", help=say("cli.config"))
    shared.add_argument("--data", metavar="DIR", help=say("cli.data"))
    chat = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    chat.add_argument("--thread", metavar="NAME", help=say("cli.thread"))
    as_json = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    as_json.add_argument("--json", action="store_true", help=say("cli.json"))
    space = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    space.add_argument("--space", metavar="ID", help=say("cli.space"))
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        prog=PROGRAM,
        description=say("cli.about"),
        epilog=say("cli.examples"),
        formatter_class=raw,
        parents=[shared, chat, as_json],
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    top.add_argument(
        "--version", action="version", version=f"Sutradhar {__version__}", help=say("cli.version")
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND")

    def add(
        group: argparse._SubParsersAction[argparse.ArgumentParser],
        name: str,
        key: str,
        *parents: argparse.ArgumentParser,
    ) -> argparse.ArgumentParser:
        return group.add_parser(
            name,
            help=say(key),
            description=say(key),
            parents=[shared, *parents],
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )

    add(commands, "chat", "cli.chat", chat, as_json)
    add(commands, "run", "cli.run")
    for work in ON_THE_COMMAND_LINE:
        verbs = add(commands, work, f"cli.{work}").add_subparsers(dest="verb", metavar="VERB", required=True)
        if work in argv:  # loading the table of verbs takes as long as the rest of --help
            from bot.commands import KINDS

            for row in [row for row in KINDS[work].verbs if not row.inner]:
                _arguments(add(verbs, row.name, row.summary, space, as_json), row, say)
    evaluation = add(commands, "eval", "cli.eval").add_subparsers(dest="verb", metavar="WHAT", required=True)
    retrieval = add(evaluation, "library", "cli.eval_library", as_json)
    retrieval.add_argument("questions", metavar="QUESTIONS.jsonl", help=say("cli.questions"))
    retrieval.add_argument("--shelf", help=say("verbs.option_shelf_or_default"))
    retrieval.add_argument("--no-lookup", action="store_true", help=say("cli.no_lookup"))
    retrieval.add_argument("--all", action="store_true", help=say("cli.eval_all"))
    course = add(evaluation, "course", "cli.eval_course", space, as_json)
    course.add_argument("questions", metavar="QUESTIONS.jsonl", help=say("cli.course_questions"))
    course.add_argument("--all", action="store_true", help=say("cli.eval_all"))
    memory = add(evaluation, "memory", "cli.eval_memory", space, as_json)
    memory.add_argument("queries", metavar="QUERIES.jsonl", help=say("cli.queries"))
    memory.add_argument("--story", metavar="ID", required=True, help=say("cli.story_id"))
    memory.add_argument("--without", metavar="COMPONENT", action="append", help=say("cli.without"))
    story = add(commands, "story", "cli.story").add_subparsers(dest="verb", metavar="VERB", required=True)
    export = add(story, "export", "cli.story_export", space)
    export.add_argument("story", metavar="ID", help=say("cli.story_id"))
    export.add_argument("--format", choices=("json",), default="json", help=say("cli.story_format"))
    export.add_argument("--out", metavar="FILE", required=True, help=say("cli.story_out"))
    story_import = add(story, "import", "cli.story_import", space, as_json)
    story_import.add_argument("file", metavar="FILE", help=say("cli.story_file"))
    script = add(commands, "script", "cli.script").add_subparsers(dest="verb", metavar="VERB", required=True)
    report = add(script, "report", "cli.script_report")
    report.add_argument("file", metavar="FILE", help=say("cli.script_file"))
    report.add_argument("--json", action="store_true", help=say("cli.script_json"))
    models = add(commands, "models", "cli.models").add_subparsers(dest="verb", metavar="VERB", required=True)
    add(models, "list", "cli.models_list")
    for verb in ("pull", "path"):
        add(models, verb, f"cli.models_{verb}").add_argument(
            "names", nargs="*", metavar="NAME", help=say("cli.model")
        )
    add(models, "test", "cli.models_test", as_json).add_argument(
        "names", nargs="*", metavar="PROVIDER:MODEL", help=say("cli.models_test_names")
    )
    db = add(commands, "db", "cli.db")
    db.epilog, db.formatter_class = say("cli.db_examples"), raw
    copies = db.add_subparsers(dest="verb", metavar="VERB", required=True)
    add(copies, "backup", "cli.db_backup").add_argument("target", metavar="FILE", help=say("cli.db_file"))
    add(copies, "restore", "cli.db_restore").add_argument("target", metavar="FILE", help=say("cli.db_from"))
    add(copies, "move", "cli.db_move").add_argument("target", metavar="URL", help=say("cli.db_url"))
    add(copies, "size", "cli.db_size").add_argument("--json", action="store_true", help=say("cli.db_json"))
    doctor = add(commands, "doctor", "cli.doctor")
    doctor.add_argument("--invite", action="store_true", help=say("cli.invite"))
    doctor.add_argument("--live", action="store_true", help=say("cli.live"))
    return top


def _arguments(command: argparse.ArgumentParser, row: Verb, say: Words) -> None:
    """Add the argument and the options of a row of the table."""
    if row.argument is not None:
        count = "+" if row.argument.many else None if row.argument.required else "?"
        name = row.argument.name.upper()
        command.add_argument("given", nargs=count, metavar=name, default="", help=say(row.argument.summary))
    for option in row.options:
        if option.kind == "flag":
            command.add_argument(f"--{option.name}", action="store_true", help=say(option.summary))
        else:
            kind = int if option.kind == "number" else str
            command.add_argument(
                f"--{option.name}",
                type=kind,
                required=option.required,
                choices=option.choices or None,
                help=say(option.summary),
            )


def _command(arguments: dict[str, Any], locale: str) -> int:
    """Run the command and print its errors; returns the exit code."""
    from bot.events import UserError

    try:
        return _run(arguments, locale)
    except UserError as error:
        from bot.config.errors import ConfigError

        for fault in error.errors if isinstance(error, ConfigError) else (error,):
            print(words(locale)(fault.key, **fault.values), file=sys.stderr)
        return WRONG_USE if error.key.startswith(_CONFIGURATION_FAULTS) else FAILED


def _run(arguments: dict[str, Any], locale: str) -> int:
    if arguments.get("command") != "models":  # model files are not secret, and several users may share them
        os.umask(0o077)
    if arguments.get("command") == "doctor" and not (arguments.get("invite") or arguments.get("live")):
        from bot.doctor import doctor

        return doctor(_path(arguments, "config"), _path(arguments, "data"), os.environ, locale)
    config = _config(arguments)
    match arguments.get("command"):
        case "doctor" if arguments.get("live"):
            from bot.doctor import live

            return live(config, words(locale))
        case "doctor":
            from bot.adapters.discord.installed.setup import invite

            return invite(config, locale)
        case "run":
            from bot.adapters.serving import serve

            Words.to_operator = False  # what it says is read on Discord and Slack; a fault that ends it, here
            try:
                return serve(config, locale)
            finally:
                Words.to_operator = True
        case work if work in ON_THE_COMMAND_LINE:
            return _perform(config, locale, arguments)
        case "story":
            return _story(config, words(locale), arguments)
        case "script":
            return _script_report(config, words(locale), arguments)
        case "db":
            return _databases(config, words(locale), arguments)
        case "eval" if arguments["verb"] == "memory":
            return _eval_memory(config, arguments)
        case "eval" if arguments["verb"] == "course":
            return _eval_course(config, words(locale), arguments)
        case "eval":
            from bot.adapters.terminal.one_shot import evaluate
            from bot.verb import DEFAULT_SHELF

            return evaluate(
                config,
                str(arguments["questions"]),
                str(arguments.get("shelf") or DEFAULT_SHELF),
                words(locale),
                lookup=not arguments.get("no_lookup"),
                every=bool(arguments.get("all")),
                json=bool(arguments.get("json")),
            )
        case "models":
            from bot.adapters.terminal.models import model_files, try_models

            if arguments["verb"] == "test":
                return try_models(
                    config,
                    locale,
                    arguments.get("names", []),
                    json_stream() if arguments.get("json") else None,
                )
            return model_files(config, str(arguments["verb"]), arguments.get("names", []))
        case _:
            return _chat(config, locale, arguments)


def _perform(config: Config, locale: str, arguments: dict[str, Any]) -> int:
    """Run one verb of a work, as its row of the table describes."""
    from bot.adapters import termination
    from bot.adapters.terminal.one_shot import perform
    from bot.adapters.terminal.paths import absolute
    from bot.commands import ROWS

    row = ROWS[arguments["command"], arguments["verb"]]
    options = {option.name: arguments[option.name] for option in row.options if option.name in arguments}
    argument = arguments.get("given", "")
    if row.argument is not None and row.argument.many:
        options[row.argument.name], argument = [absolute(path) for path in argument], ""
    out = json_stream() if arguments.get("json") else None
    space = arguments.get("space") or "local"
    return termination.run(perform(config, locale, row, options, argument, out, space))


def _story(config: Config, say: Words, arguments: dict[str, Any]) -> int:
    """Export a story to a file, or import one."""
    from json import dumps
    from pathlib import Path

    from bot.adapters import termination
    from bot.adapters.markdown import clean
    from bot.works.story.command_line import export_to, import_file
    from bot.works.story.exchange.imports import left_out_key

    space = arguments.get("space") or "local"
    if arguments["verb"] == "export":
        file = Path(arguments["out"])
        row = termination.run(export_to(config, space, arguments["story"], file))
        print(clean(say("story.exported", title=row.title or say("story.untitled"), file=file)))
        return OK
    out = json_stream() if arguments.get("json") else None
    imported = termination.run(import_file(config, space, Path(arguments["file"]), _show_progress))
    for key, n in imported.counts.items():
        print(clean(say(key, n=n, name=arguments["file"])), file=sys.stderr)
    for line in imported.left_out[:BAD_LINES]:
        print(clean(say(left_out_key(line.key), line=line.number, reason=say(line.key))), file=sys.stderr)
    if (more := len(imported.left_out) - BAD_LINES) > 0:
        print(clean(say("story.import_lines_more", n=more)), file=sys.stderr)
    if out is not None:
        out.write(dumps({"story": imported.story.id, "turns": imported.turns}).encode() + b"\n")
        out.close()
    else:
        print(
            clean(
                say("story.imported", title=imported.story.title, n=imported.turns, code=imported.story.alias)
            )
        )
    return OK


def _script_report(config: Config, say: Words, arguments: dict[str, Any]) -> int:
    """Print the figures of a script file: a line for each scene, then the sums."""
    from json import dumps
    from pathlib import Path

    from bot.adapters import termination
    from bot.adapters.markdown import clean
    from bot.works.script.intake import report_of

    report = termination.run(report_of(config, Path(arguments["file"])))
    if arguments.get("json"):
        with json_stream() as out:
            out.write(dumps(report, ensure_ascii=False).encode() + b"\n")
        return OK
    for scene in report["scenes"]:
        speaking = ", ".join(scene["characters"])
        print(clean(f"{scene['number']:>4} {scene['eighths']:>4}/8  {scene['heading']}  {speaking}".rstrip()))
    print(clean(say("cli.script_totals", title=report["title"], **report["totals"])))
    return OK


def _databases(config: Config, say: Words, arguments: dict[str, Any]) -> int:
    """Back up, restore, move or measure the stored data."""
    import signal
    from pathlib import Path

    from bot import database_commands

    # Half-written files are removed, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    match arguments["verb"]:
        case "backup":
            return database_commands.backup(config, say, Path(arguments["target"]))
        case "restore":
            return database_commands.restore(config, say, Path(arguments["target"]))
        case "move":
            return database_commands.move(config, say, arguments["target"])
        case _:
            return database_commands.size(config, say, json_stream() if arguments.get("json") else None)


def _eval_memory(config: Config, arguments: dict[str, Any]) -> int:
    """Measure how well a story's memory finds what the queries in a file ask for."""
    from json import dumps
    from pathlib import Path

    from bot.adapters import termination
    from bot.works.story.command_line import evaluate

    figures = termination.run(
        evaluate(
            config,
            arguments.get("space") or "local",
            arguments["story"],
            Path(arguments["queries"]),
            arguments.get("without", []),
        )
    )
    if arguments.get("json"):
        print(dumps(figures))
    else:
        print("\n".join(f"{name:<12} {value:.4g}" for name, value in figures.items()))
    return OK


def _eval_course(config: Config, say: Words, arguments: dict[str, Any]) -> int:
    """Measure how well the courses' search tool finds what the questions in a file ask for."""
    from pathlib import Path

    from bot.adapters import termination
    from bot.adapters.terminal.one_shot import show
    from bot.works.course.command_line import evaluate_courses

    space, file = arguments.get("space") or "local", Path(arguments["questions"])
    report = termination.run(evaluate_courses(config, space, file, _show_progress))
    return show(report, say, every=bool(arguments.get("all")), json=bool(arguments.get("json")))


def _show_progress(done: int, total: int) -> None:
    """Show progress on one line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r{done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _chat(config: Config, locale: str, arguments: dict[str, Any]) -> int:
    from bot.adapters import termination
    from bot.adapters.terminal import chat, chat_json

    thread = str(arguments["thread"]) if arguments.get("thread") else None
    if arguments.get("json"):
        return termination.run(chat_json(config, locale, thread, json_stream()))
    return termination.run(chat(config, locale, thread))


def json_stream() -> BinaryIO:
    """Standard output, reserved for JSON: everything else is printed to standard error from now on."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def _config(arguments: dict[str, Any]) -> Config:
    from bot.config import load

    return load(_path(arguments, "config"), _path(arguments, "data"), os.environ)


def _path(arguments: dict[str, Any], name: str) -> Path | None:
    from pathlib import Path

    return Path(str(arguments[name])) if arguments.get(name) else None
