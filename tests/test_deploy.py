"""The files in the guide to hosting are valid for the programs that read them, and fit the bot.

tests/data/compose-spec.json is the schema of the Compose Specification (github.com/compose-spec/compose-spec,
Apache-2.0) without its descriptions.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from bot.adapters.operating import LIVE, READY
from bot.config import DiscordConfig, SlackConfig, load
from bot.config.settings import BUILT_IN

ROOT = Path(__file__).resolve().parents[1]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
LEAVES_WITHIN_S = 20
"""What the guide says of SIGTERM; everything that stops the bot has to wait longer."""


def faults(compose: dict[str, Any]) -> list[str]:
    schema = json.loads((ROOT / "tests/data/compose-spec.json").read_text(encoding="utf-8"))
    return [fault.message for fault in Draft7Validator(schema).iter_errors(compose)]


def test_the_compose_file_is_valid_and_complete() -> None:
    assert faults(COMPOSE) == []
    wrong = copy.deepcopy(COMPOSE)
    wrong["services"]["bot"]["depends_on"]["postgres"]["condition"] = "healthy"
    wrong["services"]["bot"]["restrat"] = "always"
    assert len(faults(wrong)) == 2, "the schema notices a typing error"

    services = COMPOSE["services"]
    assert set(services) == {"bot", "postgres"}
    for service in services.values():
        named = {volume.split(":")[0] for volume in service["volumes"]}
        assert named <= set(COMPOSE["volumes"])
        assert service["restart"] == "unless-stopped"
        assert set(service.get("depends_on", {})) <= set(services)
    bot = services["bot"]
    assert not {"container_name", "ports"} & set(bot), "with either there could be only one"
    assert int(bot["stop_grace_period"].rstrip("s")) > LEAVES_WITHIN_S
    assert bot["deploy"]["replicas"] > 1
    # All containers share these, and the bot's user can write to them; each container has its own /data.
    assert {volume.split(":")[1] for volume in bot["volumes"]} == {"/files", "/models"}
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "mkdir -p /data /files /models && chown 10001:10001 /data /files /models" in dockerfile
    assert 'VOLUME ["/data", "/models"]' in dockerfile
    (mounted,) = bot["configs"]
    assert mounted["target"] == bot["environment"]["SUTRADHAR_CONFIG"]
    settings = load(ROOT / COMPOSE["configs"][mounted["source"]]["file"], environ={})
    account, host = re.findall(r"postgresql\+psycopg://(\w+)@(\w+)/", settings.storage.url or "")[0]
    assert host in services
    assert account == services[host]["environment"]["POSTGRES_USER"]
    assert settings.storage.files == "file:///files"
    assert settings.storage.chroma_url is None
    assert services[host]["image"].startswith("pgvector/pgvector:pg"), "vectors are there"
    assert "ports" not in services[host], "strangers do not reach it"
    asked = (bot["environment"]["PGPASSWORD"], services[host]["environment"]["POSTGRES_PASSWORD"])
    assert asked[0] == asked[1] == "${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD in .env}"


def test_the_example_of_the_environment_has_every_variable_that_is_read(tmp_path: Path) -> None:
    text = (ROOT / bot_env()).read_text(encoding="utf-8")
    offered = dict(re.findall(r"^(?:# )?([A-Z][A-Z0-9_]+)=(.*)$", text, re.MULTILINE))
    read = {
        name for path in (ROOT / "bot").rglob("*.py") for name in _read_by(path.read_text(encoding="utf-8"))
    }
    assert len(read) > 8
    read |= {provider.api_key_env for provider in BUILT_IN.values() if provider.api_key_env}
    for section in (DiscordConfig(), SlackConfig()):
        read |= {getattr(section, member.name) for member in fields(section) if member.name.endswith("_env")}
    read |= set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text(encoding="utf-8")))
    read |= {"PGPASSWORD", "SUTRADHAR_LOCALE"}
    assert read == set(offered)
    # As it is, it sets nothing: docker's --env-file would hand on even an empty value.
    assert [value for name, value in re.findall(r"^([A-Z_]+)=(.*)$", text, re.MULTILINE) if value] == []
    assert not re.search(r"^SUTRADHAR", text, re.MULTILINE)
    empty = dict.fromkeys(re.findall(r"^([A-Z_]+)=", text, re.MULTILINE), "")
    assert load(data=tmp_path, environ=empty) == load(data=tmp_path, environ={})


def bot_env() -> str:
    """The example of the file that the service reads."""
    return f"{COMPOSE['services']['bot']['env_file']}.example"


def _read_by(text: str) -> list[str]:
    return re.findall(r"secrets?(?:\.get)?\(\s*\"((?:SUTRADHAR|OTEL)_[A-Z_]+)\"", text)


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (ROOT / "deploy/sutradhar.service").read_text(encoding="utf-8")
    keys = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    assert int(keys["TimeoutStopSec"]) > LEAVES_WITHIN_S
    assert (keys["SuccessExitStatus"], keys["RestartPreventExitStatus"]) == ("143", "2")
    assert keys["WantedBy"] == "multi-user.target"
    assert "network-online.target" in keys["After"]
    assert "network-online.target" in keys["Wants"]
    command = keys["ExecStart"].split()
    assert command[1:] == ["-m", "bot", "run"]
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze here")
    # Where the guide puts it there is no bot on this machine.
    here = text.replace(command[0], sys.executable)
    for unit, well in ((here, True), (here.replace("[Install]", "ProtectSistem=strict\n[Install]"), False)):
        file = tmp_path / "sutradhar.service"
        file.write_text(unit, encoding="utf-8")
        done = subprocess.run(
            [analyze, "verify", "--man=no", str(file)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode == 0 and done.stderr == "") is well, done.stderr


def test_the_page_for_kubernetes_fits_the_bot(tmp_path: Path) -> None:
    page = (ROOT / "docs/kubernetes.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.+?)```", page, re.DOTALL)
    documents = {document["kind"]: document for document in yaml.safe_load_all(block)}
    assert list(documents) == ["Secret", "ConfigMap", "Service", "StatefulSet"]
    assert set(documents["Secret"]["stringData"]) <= set(
        re.findall(r"[A-Z][A-Z0-9_]+", (ROOT / ".env.example").read_text(encoding="utf-8"))
    )
    spec = documents["StatefulSet"]["spec"]
    assert (spec["replicas"], spec["serviceName"]) == (1, documents["Service"]["metadata"]["name"])
    pod = spec["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > LEAVES_WITHIN_S
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"USER {pod['securityContext']['runAsUser']}:" in dockerfile
    (container,) = pod["containers"]
    variables = {entry["name"]: entry["value"] for entry in container["env"]}
    (settings,) = documents["ConfigMap"]["data"].values()
    file = tmp_path / "config.toml"
    file.write_text(settings, encoding="utf-8")
    config = load(file, environ=variables | {"SUTRADHAR_CONFIG": ""})
    (port,) = container["ports"]
    assert config.operate.listen == f"0.0.0.0:{port['containerPort']}"
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
    assert [probe["path"] for probe in probes] == [LIVE, LIVE, READY[0]]
    assert {probe["port"] for probe in probes} == {port["name"]}
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounted == {"/data", "/models", "/etc/sutradhar"}
    assert variables["SUTRADHAR_CONFIG"] == f"/etc/sutradhar/{next(iter(documents['ConfigMap']['data']))}"
    kept = {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]} | {
        volume["name"] for volume in pod["volumes"]
    }
    assert {mount["name"] for mount in container["volumeMounts"]} == kept
