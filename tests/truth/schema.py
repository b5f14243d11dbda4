"""Is a report what its JSON Schema says, and does the schema name every member of it?

Knows the part of JSON Schema that docs/report-json.schema.json uses. Where the schema lists members, a
report may have no others: whoever adds one must describe it.
"""
import json
import os

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}


def load():
    with open(os.path.join(DOCS, "report-json.schema.json"), encoding="utf-8") as file:
        return json.load(file)


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problems(root, schema, value, where="report"):
    """Yields a sentence for each way in which the value is not what the schema says."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].split("/")[-1]]
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {value}, not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value}, none of {schema['enum']}"
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, name) for name in types):
        yield f"{where} is {value!r:.40}, not of type {' or '.join(types)}"
        return
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        yield f"{where} is {value}, below {schema['minimum']}"
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from problems(root, schema.get("items", {}), item, f"{where}[{number}]")
    if isinstance(value, dict):
        yield from member_problems(root, schema, value, where)


def member_problems(root, schema, value, where):
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where} lacks {key}"
    for key, member in value.items():
        if key in known:
            yield from problems(root, known[key], member, f"{where}.{key}")
        elif others:
            yield from problems(root, others, member, f"{where}.{key}")
        else:
            yield f"{where}.{key} is not in the schema"


def names(schema):
    """All names of members that the schema mentions."""
    found = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        found |= set(part.get("properties", {}))
        waiting += part.get("properties", {}).values()
        waiting += part.get("$defs", {}).values()
        waiting += [part[key] for key in ("items", "additionalProperties") if key in part]
    return found


def undocumented(schema):
    """Names in the schema that docs/report-json.md does not mention."""
    with open(os.path.join(DOCS, "report-json.md"), encoding="utf-8") as file:
        page = file.read()
    return sorted(name for name in names(schema) if f"`{name}`" not in page)
