"""Where traces are sent, by OpenTelemetry's own variables and config.toml. Knows neither spans nor the SDK.

Sources: OpenTelemetry's specification, "OpenTelemetry Protocol Exporter" and "Environment Variable Specification".
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from bot.config import Config

PATH: Final = "/v1/traces"
"""Where a collector takes them, below the base that OTEL_EXPORTER_OTLP_ENDPOINT names."""

_log = logging.getLogger(__name__)


def endpoint_of(config: Config) -> str | None:
    """Where spans are sent, as a whole URL; None for nowhere. Variables come before config.toml."""
    if (config.secret("OTEL_SDK_DISABLED") or "").strip().lower() == "true":
        return None
    exporters = config.secret("OTEL_TRACES_EXPORTER")
    if exporters is not None and "otlp" not in (one.strip() for one in exporters.split(",")):
        return None
    whole = (config.secret("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or "").strip()
    base = (config.secret("OTEL_EXPORTER_OTLP_ENDPOINT") or "").strip() or config.tracing.endpoint
    url = whole or base
    if not url:
        return None
    if not url.startswith(("http://", "https://")):
        _log.warning("no traces are sent: the endpoint does not begin with http:// or https://")
        return None
    spoken = config.secret("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or config.secret(
        "OTEL_EXPORTER_OTLP_PROTOCOL"
    )
    if spoken is not None and spoken.strip() != "http/protobuf":
        _log.warning(
            "no traces are sent: OTLP is spoken as http/protobuf alone, port 4318 of most collectors"
        )
        return None
    return url if whole or url.rstrip("/").endswith(PATH) else url.rstrip("/") + PATH


def host_of(url: str) -> str:
    """The host alone, without a password; "" where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def headers_of(config: Config) -> str:
    """What is sent along, a key for example: "name=value,name=value"."""
    return (
        config.secret("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
        or config.secret("OTEL_EXPORTER_OTLP_HEADERS")
        or ""
    )
