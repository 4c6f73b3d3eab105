#!/usr/bin/env python3
"""Compares what types accept with what their JSON Schemas accept, over generated
values, by the validator `jsonschema` of PyPI. Prints TAP.

What a type accepts, its schema must accept. What a type refuses and its schema
accepts must be one of the differences that the documentation names.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tap  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "build/python"
CASES = ROOT / "build/test-logs/json-schema.jsonl"
TESTS = ROOT / ".build/debug/kvcodablePackageTests.xctest"


def validator():
    """The newest draft's validator; installed into build/ where it is not there."""
    if not (PACKAGES / "jsonschema").exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(PACKAGES), "jsonschema==4.26.0"],
                       check=True)
    sys.path.insert(0, str(PACKAGES))
    from jsonschema import Draft202012Validator
    return Draft202012Validator


def write_cases():
    if not TESTS.exists():
        subprocess.run([os.environ.get("SWIFT", "swift"), "build", "--build-tests"], cwd=ROOT, check=True)
    CASES.parent.mkdir(parents=True, exist_ok=True)
    CASES.unlink(missing_ok=True)
    subprocess.run([str(TESTS), "--testing-library", "swift-testing", "--filter", "JSONSchemaTests"], cwd=ROOT,
                   env={**os.environ, "KVCODABLE_SCHEMA_CASES": str(CASES)}, check=True,
                   stdout=subprocess.DEVNULL)


def scalars(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield None, inner
            yield from scalars(inner)
    else:
        yield None, value


def is_named(case):
    """Whether the documentation names why the type refuses what its schema
    accepts: by the words of the types and the values in it."""
    kind, value = case["type"], case["value"]
    found = [inner for _, inner in scalars(value)]
    texts = [inner for inner in found if isinstance(inner, str)]
    numbers = [inner for inner in found if isinstance(inner, (int, float)) and not isinstance(inner, bool)]
    return (
        "Float(" in kind and any(abs(number) < 2 for number in numbers)  # rounding at a bound
        or "Decimal" in kind and any(re.fullmatch(r"[-+.eE0-9]*", text) and text for text in texts)
        or "Decimal" in kind and any(isinstance(number, float) and abs(number) > 1e38 for number in numbers)
        or "URL" in kind and any(text in ("a b", "%") for text in texts)
        # What looks like a value of ours where a dictionary was meant, and the length of data.
        or any(key in ("$data", "$date", "$uid", "$real") for key, _ in scalars(value))
    )


def main():
    draft = validator()
    write_cases()
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    for schema in {json.dumps(case["schema"]) for case in cases}:
        draft.check_schema(json.loads(schema))
    tap.check(True, "every schema is one of draft 2020-12")
    narrow, unnamed, wide = [], [], 0
    for case in cases:
        accepts = draft(case["schema"]).is_valid(case["value"])
        if case["accepted"] and not accepts:
            narrow.append(case)
        elif accepts and not case["accepted"]:
            wide += 1
            if not is_named(case):
                unnamed.append(case)
    accepted = sum(case["accepted"] for case in cases)
    for title, wrong in (("what a type accepts, its schema accepts", narrow),
                         ("what a type refuses and its schema accepts is documented", unnamed)):
        for case in wrong[:5]:
            print("#", json.dumps({key: case[key] for key in ("type", "value")})[:600])
        tap.check(not wrong, f"{title}, of {len(cases)} values, {accepted} of them accepted, {wide} by the schema alone")
    tap.finish()


main()
