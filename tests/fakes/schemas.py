"""Checks JSON schemas for answers, and names of tools, as the services do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
NEVER = {
    *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "prefixItems"),
    *("patternProperties", "propertyNames", "minProperties", "maxProperties", "contains", "uniqueItems"),
    "unevaluatedProperties",
}
"""OpenAI: Structured model outputs, "Supported schemas"."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def bad_name(name: object) -> bool:
    """Whether the name is not allowed for a tool or schema."""
    return not isinstance(name, str) or _NAME.fullmatch(name) is None


def schema_fault(schema: object, *, never: frozenset[str] | set[str] = NEVER) -> str | None:
    """Why a service would refuse this schema for strict answers, or None. Every object must set additionalProperties
    to false and require all its properties; the root must be an object.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return "schema must be a JSON Schema of 'type: \"object\"'"
    return _fault(schema, schema, never, "root")


def _fault(schema: object, root: Mapping[str, Any], never: frozenset[str] | set[str], at: str) -> str | None:
    if not isinstance(schema, Mapping):
        return f"{at}: a schema must be an object"
    if unknown := never & set(schema):
        return f"{at}: '{min(unknown)}' is not permitted"
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.removeprefix("#/$defs/")
        return None if name in root.get("$defs", {}) else f"{at}: reference '{reference}' not found"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not set(kinds) <= TYPES or not (kinds or {"enum", "const", "anyOf"} & set(schema)):
        return f"{at}: schema must have a 'type' key"
    inner: list[tuple[str, object]] = [*schema.get("$defs", {}).items()]
    inner += [(f"{at}.anyOf", option) for option in schema.get("anyOf", [])]
    if "object" in kinds:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            return f"{at}: 'additionalProperties' is required to be supplied and to be false"
        if set(schema.get("required", [])) != set(properties):
            return f"{at}: 'required' has to include every key in properties"
        inner += [(f"{at}.{name}", property) for name, property in properties.items()]
    if "array" in kinds:
        if "items" not in schema:
            return f"{at}: array schema missing items"
        inner.append((f"{at}.items", schema["items"]))
    return next((fault for name, part in inner if (fault := _fault(part, root, never, name))), None)
