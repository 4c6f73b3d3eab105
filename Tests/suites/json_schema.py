#!/usr/bin/env python3
"""Compares what types accept with what their JSON Schemas accept, over generated
values, by the validator `jsonschema` of PyPI. Prints TAP.

What a type accepts, its schema must accept. What a type refuses and its schema
accepts must be one of the differences that the documentation names.
"""
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tap  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build/python"
CASES = ROOT / "build/test-logs/json-schema.jsonl"
TESTS = ROOT / ".build/debug/kvcodablePackageTests.xctest"


def validator():
    """The newest draft's validator, which make setup-test installs into build/."""
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


# What a schema cannot say, as the documentation lists it: the words of the type's refusal.
BYTES = r"Expected (?:\.\.\.)?(\d+) bytes(?: at .+)?, found (\d+)"
NO_TEXT = r'Expected (?:Decimal|URL)(?: at .+)?, found "(.*)"'
NO_NUMBER = r"Expected Decimal(?: at .+)?, found (-?[\d.e+-]+)"
LOOKS_ALIKE = r"Expected Dictionary(?: at .+)?, found (?:Date|Data|UID)"
ROUNDED = r"Expected ([-\d.]*?)\.\.[.<]([-\d.]*)(?: at .+)?, found (-?[\d.e+-]+)"


def single(number):
    """The number as a Float holds it."""
    return struct.unpack("f", struct.pack("f", number))[0]


def is_named(case):
    """Whether the documentation names the reason why the type refuses what its schema accepts."""
    refusal = case["refusal"]
    if found := re.fullmatch(BYTES, refusal):
        # Base64 has the same length for up to three lengths of data.
        return "Data(" in case["type"] and (int(found[1]) + 2) // 3 == (int(found[2]) + 2) // 3
    if re.fullmatch(LOOKS_ALIKE, refusal):
        return True
    if found := re.fullmatch(NO_TEXT, refusal):
        return found[1] in ("a b", "%") if "URL" in refusal else re.fullmatch(r"[-+.eE0-9]+", found[1]) is not None
    if found := re.fullmatch(NO_NUMBER, refusal):
        return abs(float(found[1])) > 1e127
    found = re.fullmatch(ROUNDED, refusal)
    # A Float that is next to the bound, and only a Float.
    return found is not None and "Float(" in case["type"] and any(
        bound and abs(single(float(found[3])) - float(bound)) <= abs(float(bound)) * 2 ** -23
        for bound in (found[1], found[2]))


# proves: G61
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
        if case["refusal"] is None and not accepts:
            narrow.append(case)
        elif accepts and case["refusal"]:
            wide += 1
            if not is_named(case):
                unnamed.append(case)
    accepted = sum(case["refusal"] is None for case in cases)
    for title, wrong in (("what a type accepts, its schema accepts", narrow),
                         ("what a type refuses and its schema accepts is documented", unnamed)):
        for case in wrong[:5]:
            print("#", json.dumps({key: case[key] for key in ("type", "value", "refusal")})[:600])
        tap.check(not wrong, f"{title}, of {len(cases)} values, {accepted} of them accepted, {wide} by the schema alone")
    tap.finish()


main()
