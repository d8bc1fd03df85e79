"""Typed lines are parsed into verbs and options, or get a sentence that helps."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.command_line import line_for, lines_of, parse, tokens, with_words
from bot.commands import KINDS, MAX_LINE, ROWS, TABLE, plain_verb
from bot.events import UserError
from bot.manual import document, help_text
from bot.manual import example as example_of
from bot.verb import Verb, usage
from bot.words import LOCALES, name_of, words
from bot.works.council import LEVELS
from bot.works.council.values import Level


def test_plain_text_is_left_alone() -> None:
    parsed = parse("  what's a \"hero's\" reach --shelf x?  ")
    assert parsed.verb is None
    assert parsed.text == "what's a \"hero's\" reach --shelf x?"
    assert parsed.options == {}


@pytest.mark.parametrize(
    ("line", "path", "options", "text"),
    [
        (
            "/rules ask a hero's what's? --shelf r --k 5",
            "rules ask",
            {"shelf": "r", "k": 5},
            "a hero's what's?",
        ),
        ("/rules ask --shelf rules Who said 'tis?", "rules ask", {"shelf": "rules"}, "Who said 'tis?"),
        ('/rules ask "the whole of it"', "rules ask", {}, "the whole of it"),
        ('/rules ask is "cover" half?', "rules ask", {}, 'is "cover" half?'),
        ("/rules ask a  b\tc", "rules ask", {}, "a  b\tc"),
        ("/rules ask -- --shelf means?", "rules ask", {}, "--shelf means?"),
        ("/rules ask what does --verbose do", "rules ask", {}, "what does --verbose do"),
        ("/rules ask what \u2014shelf rules", "rules ask", {"shelf": "rules"}, "what"),
        ("/RULES Roll 4d6kh3", "rules roll", {}, "4d6kh3"),
        ("/roll 2d20kh1+5", "rules roll", {}, "2d20kh1+5"),
        (
            '/library add "My Book.md" b\\ c.md --shelf=my --replace',
            "library add",
            {"shelf": "my", "replace": True, "paths": ["My Book.md", "b c.md"]},
            "",
        ),
        (
            "/library add C:\\books\\a.md --shelf r",
            "library add",
            {"shelf": "r", "paths": ["C:\\books\\a.md"]},
            "",
        ),
        ("/library remove My Book --shelf 'two words'", "library remove", {"shelf": "two words"}, "My Book"),
        (
            "/sessions rename The siege of the mill --session 4f6a1c",
            "sessions rename",
            {"session": "4f6a1c"},
            "The siege of the mill",
        ),
        ("/sessions archive", "sessions archive", {}, ""),
        (
            "/council ask --yes --level mini --research a,b --follow -- What does --debate do?",
            "council ask",
            {"yes": True, "level": "mini", "research": "a,b", "follow": True},
            "What does --debate do?",
        ),
        (
            '/council members openai:x effort=high, local:y persona="a sceptic"',
            "council members",
            {},
            'openai:x effort=high, local:y persona="a sceptic"',
        ),
        ("/council chair", "council chair", {}, ""),
        (
            "/script report --script The Ferry --character ANNA",
            "script report",
            {"character": "ANNA"},
            "The Ferry",
        ),
        ("/course quiz --curso bees", "course quiz", {}, "bees"),
        ("/schedule remove --code 4f09ac", "schedule remove", {}, "4f09ac"),
        ("/council ask What does --question do?", "council ask", {}, "What does --question do?"),
        ("/script ask --max_tools 3 Who?", "script ask", {"max-tools": 3}, "Who?"),
        ("/council show ballots 2 --run 4f6a1c", "council show", {"run": "4f6a1c"}, "ballots 2"),
        (
            "/story start A door in the sea --title The door --tone eerie, slow --length short",
            "story start",
            {"title": "The door", "tone": "eerie, slow", "length": "short"},
            "A door in the sea",
        ),
        (
            '/story start A door --title "The door" in the sea --cast=Mira: a diver; Bo',
            "story start",
            {"title": "The door", "cast": "Mira: a diver; Bo"},
            "A door in the sea",
        ),
        ("/story start --tone eerie A door", "story start", {"tone": "eerie"}, "A door"),
        ("/ask who holds --shelf fate the mill?", "rules ask", {"shelf": "fate"}, "who holds the mill?"),
        ("/ask who holds the mill?", "rules ask", {}, "who holds the mill?"),
        ("/help rules ask", "help", {}, "rules ask"),
        ("/", "help", {}, ""),
        ("/rules", "help", {}, "rules"),
        ("/Roteiro relatório A balsa", "script report", {}, "A balsa"),
        ("/roteiro relatorio A balsa", "script report", {}, "A balsa"),
        ("/historia comecar --tamanho media Uma porta", "story start", {"length": "medium"}, "Uma porta"),
        ("/script ask --nivel rapido Quem?", "script ask", {"tier": "quick"}, "Quem?"),
        ("/script ask --nível RÁPIDO Quem?", "script ask", {"tier": "quick"}, "Quem?"),
        ("/rules ask --ultimas 3 Quem?", "rules ask", {"last": 3}, "Quem?"),
        ("/story export --como 'card de personagem (PNG)'", "story export", {"as": "card-png"}, ""),
        ("/story export --como 'ficha de personagem (PNG)'", "story export", {"as": "card-png"}, ""),
        ("/story export --as 'conversa do SillyTavern'", "story export", {"as": "chat"}, ""),
        ("/story mode livre", "story mode", {}, "free"),
        ("/historia modo Em Roda", "story mode", {}, "round-robin"),
        ("/story mode", "story mode", {}, ""),
        ("/roteiro", "help", {}, "roteiro"),
        ("/historia", "help", {}, "historia"),
        ("/stop", "stop", {}, ""),
    ],
)
def test_a_line_becomes_a_verb(line: str, path: str, options: dict[str, object], text: str) -> None:
    parsed = parse(line)
    assert parsed.verb is not None
    assert (parsed.verb.path, parsed.options, parsed.text) == (path, options, text)


@pytest.mark.parametrize(
    ("locale", "sentence"),
    [
        (
            "en",
            "`/council show` needs `WHAT` (answers, answers 2, ballots, ballots 2, key or research). "
            "For example: `/council show ballots 2`",
        ),
        (
            "pt-BR",
            "Falta algo depois de `/council show`: `CONTEÚDO` (respostas, respostas 2, votos, votos 2, autores ou "
            "pesquisa). Por exemplo: `/council show votos 2`",
        ),
    ],
)
def test_a_missing_value_is_described(locale: str, sentence: str) -> None:
    with pytest.raises(UserError) as raised:
        parse("/council show")
    assert words(locale)(raised.value.key, **raised.value.values) == sentence


def test_a_work_whose_verb_is_unknown_leads_to_its_own_help() -> None:
    for line, work in (("/agenda zzz", "schedule"), ("/curso prova", "course")):
        with pytest.raises(UserError) as raised:
            parse(line)
        said = words("pt-BR")(raised.value.key, **raised.value.values)
        assert f"`/help {work}` mostra todos os comandos." in said
    parsed = parse('/lembrete "Reunião" --quando 9h')
    assert parsed.verb is not None
    assert (parsed.verb.path, parsed.text) == ("schedule reminder", "Reunião")


def test_dice_may_have_two_signs() -> None:
    assert parse("/rules roll 2d6 --1").text == "2d6 --1"


@pytest.mark.parametrize(
    ("line", "key", "nearest"),
    [
        ("/rules aks what", "commands.unknown_verb", "rules ask"),
        ("/libary list", "commands.unknown_verb", "library list"),
        ("/rol 2d6", "commands.unknown_verb", "rules roll"),
        ("/askk what", "commands.unknown_verb", "rules ask"),
        ("/agenda listar", "commands.unknown_verb", "schedule list"),
        ("/curso prgrama", "commands.unknown_verb", "course outline"),
        ("/zzz", "commands.unknown_verb_only", None),
        ("/foo", "commands.unknown_verb_only", None),
        ("/council membres", "commands.unknown_verb", "council members"),
        ("/schedule quiz", "commands.unknown_verb", "course quiz"),
        ("/story list", "commands.unknown_verb", "story open"),
        ("/library delete x", "commands.unknown_verb", "library remove"),
        ("/course lessons", "commands.unknown_verb_only", None),
        ("/council ask --level huge what", "commands.option_choice", None),
        ("/council show", "commands.missing", None),
        ("/rules ask --shelv x what", "commands.unknown_option", "shelf"),
        ("/library list --frobnicate", "commands.unknown_option_only", None),
        ("/rules roll 2d6 --foo", "commands.unknown_option_only", None),
        ("/story roll 2d6 --foo", "commands.unknown_option_only", None),
        ("/council show answers --foo", "commands.unknown_option_only", None),
        ("/script report --picture", "commands.unknown_option_only", None),
        ("/library jobs --frobnicate", "commands.no_option", None),
        ("/rules ask what --shelf", "commands.option_value", None),
        ("/rules ask what --k many", "commands.option_number", None),
        ("/rules ask what --k 0", "commands.option_number", None),
        ("/rules ask", "commands.missing", None),
        ("/library add", "commands.missing", None),
        ("/stop now", "commands.too_many", None),
        ("x" * (MAX_LINE + 1), "commands.too_long", None),
    ],
)
def test_a_slip_gets_a_sentence_with_the_nearest_name(line: str, key: str, nearest: str | None) -> None:
    with pytest.raises(UserError) as raised:
        parse(line)
    assert raised.value.key == key
    said = words("en")(key, **raised.value.values)
    assert ("Did you mean" in said) == (nearest is not None)
    assert nearest is None or f"`/{nearest}`" in said or f"`--{nearest}`" in said
    assert "{" not in said


SENTENCES = frozenset(("", *words("en").sentences()))


@example("‘’")
@given(st.text(max_size=200))
def test_any_line_is_parsed_or_refused_with_a_sentence(text: str) -> None:
    for line in (text, f"/{text}", f"/rules ask {text}", f"/library add {text} --shelf s"):
        try:
            parse(line)
            key = ""
        except UserError as error:
            key = error.key
        assert key in SENTENCES


@given(st.text(alphabet="ab '\"\\=“”", max_size=40))
def test_tokens_cover_the_line(line: str) -> None:
    pieces = tokens(line)
    outside = "".join(
        line[a:b]
        for a, b in zip([0, *(t.end for t in pieces)], [*(t.start for t in pieces), len(line)], strict=True)
    )
    assert not outside.strip()


def test_the_table_is_consistent() -> None:
    assert len({(row.work, row.name) for row in TABLE}) == len(TABLE)
    for row in TABLE:
        assert ROWS[row.work, row.name] is row
        assert parse(row.example).verb is row
        assert ROWS[row.work, row.name] is row
    assert plain_verb("rules") == ("rules", "ask")
    assert plain_verb("council") == ("council", "ask")
    with pytest.raises(UserError):
        _ = ROWS["rules", "dance"]


@pytest.mark.parametrize("row", [row for row in TABLE if row.form], ids=lambda row: row.path)
def test_a_form_asks_for_what_the_verb_takes(row: Verb) -> None:
    assert row.argument is None or not row.argument.many
    assert {option.name for option in row.options if option.required} <= set(row.form)
    for name in row.form:
        option = row.option(name)
        assert option is not None
        assert option.kind in ("text", "link", "number", "person"), "which can be typed or chosen"
        for locale in LOCALES:
            say = words(locale)
            named = [
                name_of(name, "option"),
                option.summary,
                *(name_of(choice, name) for choice in option.choices),
            ]
            assert all(say(key) != key for key in named)


def test_a_line_made_of_options_parses_back_to_them() -> None:
    row = ROWS["story", "start"]
    given = {"tone": 'eerie, "slow"', "title": "The door\\ --view", "cast": "Mira: a diver; Bo's dog"}
    again = parse(line_for(row, given) + " A door in the sea")
    assert (again.verb, again.options, again.text) == (row, given, "A door in the sea")


def test_verbs_that_change_shared_settings_are_for_admins() -> None:
    admin = {row.path for row in TABLE if row.admin}
    library = {f"library {name}" for name in ("add", "remove", "reindex")}
    course = {f"course {name}" for name in ("add", "replace", "remove")}
    settings = {f"settings {verb}" for verb in ("allow", "deny", "history", "export", "import")}
    assert admin == library | course | settings | {"models", "prompts edit", "prompts reset", "story prompt"}


def test_exactly_the_listed_verbs_can_answer_in_private() -> None:
    private = {row.path for row in TABLE if row.option("private")}
    rules = {"library show", *(f"rules {name}" for name in ("ask", "lookup", "roll", "books", "see"))}
    council = {f"council {name}" for name in ("ask", "show", "export", "stats")}
    told = (
        "ask",
        "branches",
        "ideas",
        "show",
        "recall",
        "recap",
        "context",
        "missed",
        "state",
        "characters",
        "plot",
        "threads",
        "arc",
        "interview",
        "chapter",
        "export",
        "share",
    )
    story = {f"story {name}" for name in told}
    course = {f"course {name}" for name in ("ask", "list", "outline", "quiz")}
    script = {
        f"script {name}"
        for name in ("ask", "ideas", "drafts", "compare", "scenes", "scene", "report", "analysis", "export")
    }
    assert private == rules | council | story | course | script, "list verbs with --private above"
    parsed = parse("/rules ask --private who holds the mill?")
    assert (parsed.options, parsed.text) == ({"private": True}, "who holds the mill?")


def test_verbs_about_a_persons_own_data_are_personal() -> None:
    personal = {row.path for row in TABLE if row.personal}
    own = {row.path for row in TABLE if row.work in ("sessions", "settings", "privacy")}
    others = {
        "story flip",
        "story prompt",
        "story stopcard",
        "story suggest",
        "story whisper",
        "story screen",
        "story plan",
        "story roll",
        "story reveal",
        "story try",
        "schedule follow",
        "schedule unfollow",
        "script list",
        "course answer",
        "course score",
    }
    assert personal == own | others | {"models", "usage"}
    assert not any(row.ordered or row.option("private") for row in TABLE if row.personal)


def test_the_type_of_a_councils_level_has_its_levels() -> None:
    assert get_args(Level) == LEVELS


@pytest.mark.parametrize("locale", LOCALES)
def test_help_names_every_verb_and_every_option(locale: str) -> None:
    say = words(locale)
    everything = help_text(say)
    for row in TABLE:
        brief = replace(row, options=()) if KINDS[row.work].headings else row
        assert usage(brief, say) in (everything if row.bare else help_text(say, row.work))
        assert f"`{row.name}`" in everything or row.bare
        page = help_text(say, row.path)
        for option in row.options:
            name = say(name_of(option.name, "option"))
            assert f"[--{name}" in page or f" --{name}" in page
            assert f"`--{name}`" in page
    assert help_text(say, "library").count("/library") == 7
    assert "how long scenes are (`short`, `medium`, `long`)" in help_text(words("en"), "story start")
    assert "everyone, teen or mature\n" in help_text(words("en"), "story start"), "named once"
    unknown, _, rest = help_text(say, "no such thing").partition("\n\n")
    assert (unknown, rest) == (say("verbs.help_unknown", topic="`no such thing`"), everything)
    near = f"`/help {say('names.group_course')} {say('names.course_quiz')}`"
    assert help_text(say, "quizz").startswith(say("verbs.help_nearest", topic="`quizz`", near=near))


def test_help_in_portuguese_names_options_in_portuguese() -> None:
    say = words("pt-BR")
    page = help_text(say, "regras perguntar")
    assert "`/rules ask PERGUNTA [--estante ESTANTE] " in page
    assert "- `PERGUNTA`  " in page
    assert "- `--estante`  " in page
    assert "--shelf" not in page
    assert help_text(say, "roteiro relatório") == help_text(say, "ROTEIRO RELATORIO")
    assert "/script report" in help_text(say, "relatorio").partition("\n")[0]


def test_a_sentence_calls_an_option_by_its_name_which_each_platform_shows_its_own_way() -> None:
    options = {option.name for row in TABLE for option in row.options}
    for locale in LOCALES:
        for key, sentence in words(locale).sentences().items():
            bare = re.findall(r"`--([\w-]+)(?: [A-Z]+)*`", sentence)
            assert not options.intersection(bare), f"{key}: write: the option `{bare[0]}`"


def test_an_example_is_in_the_readers_language_and_means_the_same() -> None:
    say, translated = words("pt-BR"), 0
    for row in TABLE:
        english = parse(row.example)
        shown = example_of(say, row)
        assert help_text(say, row.path).endswith(f"{say('verbs.example')} `{shown}`") or row.at_once
        for line in (shown, row.example_in(say)):
            parsed = parse(line)
            assert parsed.verb is row, line
            assert list(parsed.options) == list(english.options), line
            assert bool(parsed.text) is bool(english.text), line
            for option in row.options:
                assert not option.choices or parsed.options.get(option.name) == english.options.get(
                    option.name
                ), line
        translated += row.sample_in(say) != row.sample
        assert example_of(words("en"), row) == row.example
    assert translated > 60
    started = "`/história começar Um faroleiro encontra uma porta no mar --tom sinistro`"
    for topic in ("story start", "história começar", "story começar", "/começar"):
        assert started in help_text(say, topic)
    assert help_text(say, "mesa entrar") == help_text(say, "story join"), "as on Discord"
    assert help_text(say, "história") == help_text(say, "story")


def test_a_missing_value_is_reported_with_an_example_in_the_readers_language() -> None:
    with pytest.raises(UserError) as raised:
        parse("/story start")
    for locale, sample in (("en", "A lighthouse keeper"), ("pt-BR", "Um faroleiro encontra")):
        assert sample in words(locale)(raised.value.key, **raised.value.values)


@pytest.mark.parametrize("locale", LOCALES)
def test_the_help_of_a_work_with_many_verbs_is_grouped_under_headings(locale: str) -> None:
    say, grouped = words(locale), 0
    for work, kind in KINDS.items():
        rows = [row for row in TABLE if row.work == work]
        if len(rows) < 10:
            assert not kind.headings, work
            continue
        grouped += 1
        listed = [name for names in kind.headings.values() for name in names.split()]
        assert sorted(listed) == sorted(row.name for row in rows), "each verb once"
        shown = ""
        for line in help_text(say, work).splitlines():
            if line.startswith("### "):
                shown = line.removeprefix("### ")
            elif found := re.match(rf"- `/{work} ([\w-]+)", line):
                heading = next(key for key, names in kind.headings.items() if found[1] in names.split())
                assert shown == say(heading)
                assert "[--" not in line, "options are in the help of one verb"
    assert grouped == 5
    premise = say(name_of("premise", "option")).upper()
    assert help_text(say, "story").startswith(f"### {say('verbs.heading_play')}\n- `/story start {premise}`")
    assert "`/help story start`" in help_text(say, "story")


def test_the_page_of_commands_has_the_headings_of_the_help() -> None:
    say, page = words("en"), document()
    for kind in KINDS.values():
        for heading, names in kind.headings.items():
            _, _, below = page.partition(f"**{say(heading)}**\n\n| command")
            assert below.split("\n", 3)[2].startswith(f"| `/{kind.name} {names.split()[0]}")


def test_the_page_of_commands_is_the_table() -> None:
    page = Path("docs/commands.md").read_text(encoding="utf-8")
    assert page == document(), "run: python -m bot.manual > docs/commands.md"
    assert all(f"/{row.path}" in page for row in TABLE if not row.bare)
    introduction = page.partition("\n## ")[0]
    assert not re.search("verb|edit the table|session", re.sub("<!--.*-->", "", introduction))


def test_a_persons_words_are_not_parsed_as_options_or_commands() -> None:
    begun = parse("/rules ask --k 3", asks=True)
    for words_of in ("--private", "/library remove x", '"quoted"', "-- --k 5", "two\nlines"):
        whole = with_words(begun, words_of)
        assert (whole.verb, whole.options, whole.text) == (begun.verb, {"k": 3}, words_of)
    assert with_words(parse("/rules ask scene 7:", asks=True), "run").text == "scene 7: run"
    with pytest.raises(UserError):
        with_words(begun, "x" * (MAX_LINE + 1))


@pytest.mark.parametrize("line", ["/stop", "/library jobs", "/library add --shelf x"])
def test_only_a_verb_that_takes_a_text_can_ask_for_it(line: str) -> None:
    with pytest.raises(UserError):
        parse(line, asks=True)


def test_pasted_commands_run_separately_and_pasted_text_stays_together() -> None:
    assert lines_of("/library add a.md\nHow far?\n\n/rules roll 2d6\n") == [
        "/library add a.md",
        "How far?",
        "/rules roll 2d6",
    ]
    assert lines_of("How far\ndoes it show things?") == ["How far\ndoes it show things?"]
    assert lines_of("/story act He says:\n\nStay.") == ["/story act He says:\n\nStay."]
    assert lines_of("/library add a.md\nHow far?") == ["/library add a.md", "How far?"]
    assert lines_of(" \n") == []


def test_verbs_options_and_choices_have_portuguese_names_too() -> None:
    def path(line: str) -> str:
        row = parse(line).verb
        return row.path if row is not None else ""

    assert path("/ajuda") == "help"
    assert path("/biblioteca adicionar a.md") == path("/library adicionar a.md") == "library add"
    assert parse("/library add a.md --estante regras").options["shelf"] == "regras"
    assert parse('/schedule reminder X --when "fri 19:00" --every semana').options["every"] == "week"
