#!/usr/bin/env python3
"""Writes what the tests take from the headers, so that nothing new goes untested.

    rows.py FOLDER

FOLDER/statuses.h is the list of every status. FOLDER/null_rows.h has, for each pointer argument of each function, a
call with NULL for it, and for each other argument calls with values that no caller should give;
FOLDER/lua_null_rows.h has the same for kvcodable_lua.h. The remaining arguments are good ones. A function that takes
something of which this script knows no good value fails the build, so that no function comes without its rows. What a
NULL gives follows from the header's conventions: a pointer that is only read must be there, an output need not be.
Where a function says otherwise, it stands in ABSENT_IS_FINE or NEEDED below. Whatever the row, told() looks at the error
that the call gave: there is one of the same status where that is negative, and none where it is not.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import header  # noqa: E402

# A good value for each type of parameter; the program's fixture holds them.
GOOD = {
    "const kv_error*": "g.problem", "kv_error*": "NULL", "kv_error**": "&g.error",
    "const kv_tree*": "g.tree", "kv_tree*": "NULL", "kv_tree**": "&g.out_tree",
    "const kv_cursor*": "&g.cursor", "kv_cursor*": "&g.out_cursor",
    "kv_builder*": "g.builder", "kv_registry*": "g.registry", "const kv_registry*": "g.registry",
    "const kv_type*": "g.type", "kv_type*": "NULL", "kv_type**": "&g.out_type",
    "const kv_store*": "g.store", "kv_store*": "g.store", "kv_store**": "&g.out_store",
    "const kv_transaction*": "transaction()", "kv_transaction*": "transaction()",
    "kv_transaction**": "&g.out_transaction",
    "kv_watch*": "NULL", "kv_watch**": "&g.out_watch", "kv_lease*": "NULL", "kv_lease**": "&g.out_lease",
    "const kv_node*": "g.view.node", "const char*": "g.view.bytes", "kv_view*": "&g.out_view",
    "const kv_view*": "&g.leased", "const kv_lease*": "g.lease",
    "const kv_step*": "g.path", "kv_step*": "&g.out_step", "kv_str": "g.text", "kv_str*": "&g.out_text",
    "kv_bytes*": "&g.out_bytes", "kv_origin*": "&g.out_origin", "kv_format*": "&g.out_format",
    "const kv_decode_options*": "&g.decode_options", "const kv_store_options*": "&g.store_options",
    "kv_change": "change_nothing", "kv_watch_handler": "told_change", "kv_event_handler": "told_event",
    "const kv_field*": "g.fields", "const void*": "&g.values", "void*": "&g", "int*": "&g.out_int", "int32_t*": "&g.out_int", "int64_t*": "&g.out_integer",
    "uint32_t*": "&g.out_small", "uint64_t*": "&g.out_unsigned", "double*": "&g.out_real", "size_t*": "&g.out_size",
    "struct lua_State*": "g.L", "const kv_lua_options*": "&g.options",
    "int": "1", "int64_t": "0", "uint32_t": "0", "uint64_t": "0", "double": "0",
    "kv_status": "KV_IO", "kv_format": "KV_FORMAT_ANY", "kv_layer": "KV_LAYER_APPLICATION", "kv_scope": "KV_SCOPE_VALUE",
    "kv_engine": "KV_ENGINE_AUTOMATIC",
}
# Sizes and values that go by the parameter's name.
NAMED = {"steps": "1", "new_steps": "1", "root_count": "1", "step": "0", "count": "1", "root:kv_step*": "&g.out_step", "path_count": "1",
         "node_count": "g.node_count", "byte_count": "g.byte_count", "index:int": "1", "index": "0",
         "values:void*": "&g.values", "to": "&g.copy", "name:const char*": '"Table"',
         "suite": "0", "path:kv_str": "g.file", "file:kv_str": "g.types", "bytes:kv_str": "g.document", "name:kv_str": "g.name",
         "expression:kv_str": "g.expression", "text:kv_str": "g.declaration",
         "description:const kv_tree*": "g.description", "target:kv_store*": "g.target"}
# What frees a result, where that is no function of the type's own.
FREES = {"char*": "free"}
# What the function takes is gone from the fixture.
TAKEN = {"kv_transaction_commit": "take_transaction()", "kv_transaction_rollback": "take_transaction()"}
# What is written for a caller who may not want it.
OUTPUTS = {name for name in GOOD if name.endswith("**")} | {
    "kv_cursor*", "kv_view*", "kv_step*", "kv_str*", "kv_bytes*", "kv_origin*", "kv_format*", "int*", "int32_t*", "int64_t*",
    "uint32_t*", "uint64_t*", "double*", "size_t*"}
# Inputs that may be absent, and outputs that may not: by parameter, or by function and parameter.
ABSENT_IS_FINE = {"ancestor", "ours", "theirs", "type", "options", "context", "old", "kv_type_encode.stored", "kv_registry_type.registry",
                  "kv_tree_equal.left", "kv_tree_equal.right"}
NEEDED = {"state", "kv_type_declaration.type", "kv_type_json_schema.type",
          "kv_type_decode.type", "kv_type_encode.type", "kv_type_at.type", "kv_store_migrate_archive.type",
          "kv_store_begin.transaction", "kv_store_watch.watch", "kv_store_watch_events.watch",
          "kv_store_get_view.view", "kv_store_get_view.lease",
          "kv_transaction_get_view.view", "kv_transaction_get_view.lease"}


def good(function, parameter):
    if parameter.type.startswith("kv_transaction") and function.name in TAKEN:
        return TAKEN[function.name]
    named = NAMED.get(f"{parameter.name}:{parameter.type}") or NAMED.get(parameter.name)
    value = named or GOOD.get(parameter.type)
    if value is None:
        sys.exit(f"rows.py knows no good value of {parameter.type} (parameter {parameter.name}): add one to GOOD")
    return value


def nothing(parameter):
    return "no_text" if parameter.type == "kv_str" else "NULL"


def is_needed(function, parameter):
    names = {parameter.name, f"{function.name}.{parameter.name}"}
    if names & NEEDED:
        return True
    return not names & ABSENT_IS_FINE and parameter.type not in OUTPUTS


def outcome(function, parameter):
    if function.result != "kv_status":
        return "SURVIVED"
    return "REFUSED" if is_needed(function, parameter) else "ACCEPTED"


# Values that no caller should give, for what is no pointer.
OUTRAGEOUS = {"size_t": ["SIZE_MAX"], "kv_str": ["endless"], "double": ["(double)NAN", "-1.0"],
              "int64_t": ["INT64_MIN", "INT64_MAX"], "uint32_t": ["UINT32_MAX"], "uint64_t": ["UINT64_MAX"],
              "int": ["INT_MIN"]}


def outrageous(parameter):
    if parameter.type in OUTRAGEOUS:
        return OUTRAGEOUS[parameter.type]
    return [f"({parameter.type})99"] if parameter.type in header.enums() else []


def call(function, position, value):
    values = [value if index == position else good(function, one) for index, one in enumerate(function.parameters)]
    result = f"{function.name}({', '.join(values)})"
    if "&g.error" in values:
        result = f"told({result})"
    is_given = function.result.endswith("*") and not function.result.startswith("const")
    return f"{FREES.get(function.result, f'{function.result[:-1]}_free')}({result})" if is_given else result


def rows(headers=header.EXPORTED):
    for function in header.functions(headers):
        if function.result == "kv_status":
            yield f"ACCEPTED(whole, {call(function, None, None)})"
        for position, parameter in enumerate(function.parameters):
            if parameter.is_pointer or parameter.type == "kv_str":
                yield f"{outcome(function, parameter)}({parameter.name}, {call(function, position, nothing(parameter))})"
            for value in outrageous(parameter):
                is_refused = parameter.name == "flags" and function.result == "kv_status"
                yield f"{'REFUSED' if is_refused else 'SURVIVED'}({parameter.name}, {call(function, position, value)})"


header.functions()  # the callbacks' names must be known first
folder = Path(sys.argv[1])
(folder / "null_rows.h").write_text("".join(f"{row}\n" for row in rows()))
(folder / "lua_null_rows.h").write_text("".join(f"{row}\n" for row in rows(["kvcodable_lua.h"])))
(folder / "statuses.h").write_text("".join(f"{one},\n" for one in header.enums()["kv_status"]))
