"""Faults in C."""
import re

from mutation.source import Mutant, Source, operands

LOGICAL = re.compile(r"\s*(&&|\|\|)\s*")
COMPARING = re.compile(r"\s(<=|>=|<|>)\s")
WRAP = ("(kvm(#) ^ !!(", "))")
COMPARE = {"<": "KVM_LESS(#, ", ">": "KVM_MORE(#, ", "<=": "KVM_AT_MOST(#, ", ">=": "KVM_AT_LEAST(#, "}
TERNARY = re.compile(r"\s\?\s")
SEMICOLON = re.compile(r";")
WORDS = {"return", "goto", "if", "while", "for", "switch", "case", "else", "do", "sizeof", "typedef", "struct", "static",
         "default", "break", "continue", "va_end", "va_start", "KVL_FUNCTION"}

HEADER = """#include <stdlib.h>
extern int cs_mutant(int);
#define kvm(number) cs_mutant(number)
#define KVM_LESS(number, a, b) (kvm(number) ? (a) <= (b) : (a) < (b))
#define KVM_MORE(number, a, b) (kvm(number) ? (a) >= (b) : (a) > (b))
#define KVM_AT_MOST(number, a, b) (kvm(number) ? (a) < (b) : (a) <= (b))
#define KVM_AT_LEAST(number, a, b) (kvm(number) ? (a) > (b) : (a) >= (b))
"""
# Which mutant there is, and which are reached: a byte for each in a file that is mapped, so that it outlives whatever
# becomes of the process, and is its children's as well.
RUNTIME = """#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((visibility("hidden"))) int cs_mutant(int number);
static int chosen;
static unsigned char *reached;
static long count;
__attribute__((constructor)) static void choose(void) {
  const char *number = getenv("KVCODABLE_MUTANT");
  if (number != NULL) chosen = atoi(number);
  const char *path = getenv("KVCODABLE_MUTANT_REACH");
  struct stat status;
  int file = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return;
  if (fstat(file, &status) == 0) {
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes != MAP_FAILED) {
      count = status.st_size;
      reached = bytes;
    }
  }
  syscall(SYS_close, file);
}
int cs_mutant(int number) {
  if (reached != NULL && number < count) reached[number] = 1;
  return number == chosen;
}
"""


def masked(text):
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ ]*#(?:[^\n\\]|\\\n|\\.)*', re.S | re.M)

    def blank(match):
        found = match.group()
        if found[0] in "\"'":
            return found[0] + "_" * (len(found) - 2) + found[0]
        return re.sub(r"[^\n]", " ", found)
    return pattern.sub(blank, text)


def find(text):
    source = Source(text, masked(text))
    return source, conditions(source) + returned(source) + statements(source)


def condition(source, start, end):
    start, end = source.trimmed(start, end)
    if start == end:
        return []
    if source.split(start, end, TERNARY)[1]:
        return [Mutant("invert", start, end, *WRAP)]
    return operands(source, start, end, WRAP, COMPARE, LOGICAL, COMPARING)


def conditions(source):
    result = []
    for match in re.finditer(r"\b(if|while|for)\s*\(", source.mask):
        start, end = match.end(), source.ends.get(match.end() - 1)
        if end is None:
            continue
        if match.group(1) == "for":
            parts = source.split(start, end, SEMICOLON)[0]
            if len(parts) != 3:
                continue
            start, end = parts[1]
        result += condition(source, start, end)
    return result


def returned(source):
    result = []
    for match in re.finditer(r"\breturn ([^;]+);", source.mask):
        value = match.group(1)
        if re.search(r"(==|!=|&&|\|\||\s[<>]=?\s)|^!", value) and not re.search(r"\s\?\s", value):
            result += condition(source, *match.span(1))
    return result


def statements(source):
    result = []
    positions = set()
    for start, block in source.around.items():
        if block is None or source.mask[block] != "{":
            continue
        before = source.mask[:start].rstrip()
        if before and before[-1] in "{};:)" or before.endswith(" else"):
            positions.add(source.trimmed(start, len(source.mask))[0])
    for match in re.finditer(r"\b(if|while|for)\s*\(|\belse (?!if)", source.mask):
        if match.group(1) is None:
            positions.add(match.end())
        elif match.end() - 1 in source.ends:
            positions.add(source.trimmed(source.ends[match.end() - 1] + 1, len(source.mask))[0])
    for position in sorted(positions):
        result += statement(source, position)
    return result


def statement(source, start):
    end = start
    while end < len(source.mask) and source.mask[end] not in ";})":
        if source.mask[end] == "{":
            return []
        end = source.ends[end] + 1 if source.mask[end] in "([" and end in source.ends else end + 1
    if end >= len(source.mask) or source.mask[end] != ";":
        return []
    text = source.mask[start:end]
    is_call = re.match(r"([A-Za-z_]\w*)\s*\(", text) and text.endswith(")")
    # Of one that names variables alone, only the compiler would miss anything.
    is_void = re.match(r"\(void\)", text) and re.search(r"\w\s*\(", text)
    is_set = re.match(r"[*]*[A-Za-z_][\w.\[\]>\-]*\s*([-+*|&]?=|\+\+|--)", text)
    word = re.match(r"\W*(\w+)", text)
    if not (is_call or is_set or is_void) or word and word.group(1) in WORDS:
        return []
    return [Mutant("delete", start, end + 1, "{ if (!kvm(#)) { ", " } }")]
