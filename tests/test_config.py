"""Settings: where they are read from, in which order, and how mistakes are reported."""

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
from bot.config.file import TABLES, sections
from bot.config.settings import KEYED
from bot.works.council.config import CouncilConfig
from bot.works.library import LibraryConfig

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "config.toml.example"


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the developer's own config.toml and .env."""
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def uncommented() -> str:
    """The example with every setting switched on: a comment that is valid TOML is a setting."""
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
    assert [seat.model for seat in model_spec.parse_each(config.roles.council)] == [
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
    seats = model_spec.parse_each(config.roles.council)
    assert [seat.model.partition(":")[0] for seat in seats] == [name for name in keys for _ in range(3)]
    assert len({seat.model for seat in seats}) == len(seats)


def test_the_files_suggestion_overrides_the_bundled_one_and_a_key_may_have_another_name(file: Path) -> None:
    file.write_text(
        '[providers.openai]\napi_key_env = "MINE"\n[suggested.openai]\nanswerer = ["b", "s"]\n',
        encoding="utf-8",
    )
    config = load(file, environ={"MINE": "a-key"})
    assert config.roles == RolesConfig(answerer=("openai:b", "openai:s"))
    assert load(file, environ={"OPENAI_API_KEY": "a-key"}).roles_from == "none"


def test_roles_override_suggestions_for_keys_and_an_empty_table_means_no_model(file: Path) -> None:
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
    seats = model_spec.parse_each(there.roles.council)
    assert {seat.model for seat in seats} == set(there.roles.models) == {"demo:smollm2"}
    assert len({seat.persona for seat in seats}) == len(seats) == 3
    keyed = load(environ={"SUTRADHAR_MODELS": str(folder), "OPENAI_API_KEY": "a-key"})
    assert models.needed(*keyed.wants) == ("bge-small",)


def test_a_text_role_without_a_model_uses_the_answerers(file: Path) -> None:
    file.write_text(
        '[providers.x]\nkind = "anthropic"\n[roles]\nanswerer = ["x:a", "openai:b", "x:a"]\nwriter = "openai:c"\n',
        encoding="utf-8",
    )
    config = load(file, environ={})
    assert config.roles.chain("chair") == ("x:a", "openai:b")
    assert config.roles.chain("writer") == ("openai:c",)
    assert config.roles.chain("transcriber") == config.roles.chain("council") == ()
    assert config.roles.models == ("x:a", "openai:b", "openai:c")


def test_local_speech_recognition_is_a_name_or_a_folder_beside_the_file(tmp_path: Path) -> None:
    def named(value: str) -> str:
        file = tmp_path / "config.toml"
        file.write_text(f'[speech]\ntranscriber = "{value}"\n', encoding="utf-8")
        return load(file, tmp_path / "data", {}).speech.transcriber

    assert named("./ears") == str(tmp_path / "ears")
    assert named("/srv/ears") == "/srv/ears"
    assert (named("small"), named("owner/name"), named("whisper")) == ("small", "owner/name", "whisper")
    assert "whisper" in load(tmp_path / "config.toml", tmp_path / "data", {}).wants


def test_a_model_may_sit_twice_in_a_council_with_its_own_settings(file: Path) -> None:
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


def test_a_service_at_its_own_address_needs_its_own_key(file: Path) -> None:
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


def test_a_providers_missing_key_is_reported() -> None:
    missing = load(environ={}).key_missing
    assert missing("openai:a") == "OPENAI_API_KEY"
    assert load(environ={"OPENAI_API_KEY": "k"}).key_missing("openai:a") == ""
    assert (missing("demo:smollm2"), missing("nobody:x")) == ("", "")


def test_secrets_are_not_printed_nor_pickled() -> None:
    config = load(environ={"OPENAI_API_KEY": "sk-hidden"})
    assert "sk-hidden" not in repr(config) + repr(config.secrets) + str(config)
    with pytest.raises(TypeError):
        pickle.dumps(config.secrets)


def test_the_discord_section_is_read(file: Path) -> None:
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


def test_the_slack_section_is_read(file: Path) -> None:
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


def test_relative_watched_folders_start_at_the_files_folder(file: Path) -> None:
    file.write_text('[library]\nwatch = ["books", "~/more"]\n')
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  (what the shell would say)
    assert load(file, environ={}).section(LibraryConfig).watch == (
        (file.parent / "books").resolve(),
        home / "more",
    )


def test_loading_settings_imports_nothing_heavy(file: Path) -> None:
    file.write_text("[retrieval]\nk = 9\n")
    code = (
        "import sys; from pathlib import Path; from bot.config import load;"
        f"load(Path({str(file)!r}), environ={{}});"
        "print(sorted({'pydantic', 'dotenv', 'rapidfuzz', 'difflib', 'asyncio'} & set(sys.modules)))"
    )
    seen = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"
