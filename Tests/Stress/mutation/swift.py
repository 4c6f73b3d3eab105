"""Faults in Swift."""
import re

from mutation.source import Mutant, Source, operands

WORDS = {
    "let", "var", "return", "throw", "if", "guard", "for", "while", "switch", "case", "default", "do", "defer", "break",
    "continue", "else", "func", "init", "deinit", "extension", "struct", "class", "enum", "import", "internal", "private",
    "public", "static", "final", "package", "fileprivate", "mutating", "catch", "repeat", "subscript", "typealias",
    "protocol", "get", "set", "didSet", "indirect", "where", "yield", "convenience", "override", "weak", "lazy", "in"}
LOGICAL = re.compile(r" ?(&&|\|\|) ?")
COMPARING = re.compile(r" (<=|>=|<|>) ")
COMMA = re.compile(r",")
WRAP = ("Mutants.flip(#, ", ")")
COMPARE = {"<": "Mutants.less(#, ", ">": "Mutants.more(#, ", "<=": "Mutants.atMost(#, ", ">=": "Mutants.atLeast(#, "}
DECIDING = re.compile(r"( (==|!=|===|!==|<|>|<=|>=|&&|\|\|) )|^!|^(true|false)$|\.(contains|isEmpty|hasPrefix|hasPassed)")
TERNARY = re.compile(r" \? ")

# Without an import, which would hand the functions of the system to another module.
RUNTIME = """@_silgen_name("cs_mutant") private func cs_mutant(_ number: Int32) -> Int32

@usableFromInline enum Mutants {
    @usableFromInline static func isOff(_ number: Int32) -> Bool { cs_mutant(number) == 0 }
    @usableFromInline static func flip(_ number: Int32, _ value: Bool) -> Bool { (cs_mutant(number) != 0) != value }
    @usableFromInline static func less<T: Comparable>(_ number: Int32, _ a: T, _ b: T) -> Bool { isOff(number) ? a < b : a <= b }
    @usableFromInline static func more<T: Comparable>(_ number: Int32, _ a: T, _ b: T) -> Bool { isOff(number) ? a > b : a >= b }
    @usableFromInline static func atMost<T: Comparable>(_ number: Int32, _ a: T, _ b: T) -> Bool { isOff(number) ? a <= b : a < b }
    @usableFromInline static func atLeast<T: Comparable>(_ number: Int32, _ a: T, _ b: T) -> Bool { isOff(number) ? a >= b : a > b }
    @usableFromInline static func joined<T: RangeReplaceableCollection>(_ number: Int32, _ a: T, _ b: T) -> T {
        isOff(number) ? a + b : b + a
    }
}
"""


def masked(text):
    """Blanks for comments and the insides of strings; what is interpolated is blank, too."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|#?"""(?:.|\n)*?"""#?|"(?:\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\\.|[^"\\\n])*"', re.S)

    def blank(match):
        found = match.group()
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return '"' + re.sub(r"[^\n]", "_", found[1:-1]) + '"'
    return pattern.sub(blank, text)


def find(text):
    source = Source(text, masked(text))
    return source, conditions(source) + values(source) + statements(source) + swaps(source)


def condition(source, start, end):
    """Mutants of what decides: its operands, or those of what chooses between two values."""
    start, end = source.split(start, end, TERNARY)[0][0]
    return operands(source, start, end, WRAP, COMPARE, LOGICAL, COMPARING)


def conditions(source):
    result = []
    for match in re.finditer(r"(?<![#\w.])(if|guard|while|where)\b ", source.mask):
        if match.group(1) == "while" and source.mask[:match.start()].rstrip().endswith("}"):
            continue
        start, end = match.end(), condition_end(source, match)
        if end is None:
            continue
        if match.group(1) == "where":
            line = source.mask[source.mask.rfind("\n", 0, start) + 1:start].strip()
            if not line.startswith(("for ", "catch")):
                continue
        for clause in source.split(start, end, COMMA)[0]:
            words = source.mask[clause[0]:clause[1]]
            if re.match(r"(let|var|case)\b", words):
                result.append(Mutant("unbind", *clause, "", ", Mutants.isOff(#)"))
            elif not words.startswith("#") and words != "true":  # a loop without an end needs no return behind it
                result += condition(source, *clause)
    return result


def condition_end(source, match):
    position = match.end()
    while position < len(source.mask):
        sign = source.mask[position]
        if match.group(1) == "guard" and source.mask.startswith("else {", position) and not source.mask[position - 1].isalnum():
            return position
        if sign == "{" and match.group(1) != "guard":
            return position
        if sign in ")]}":
            return None
        position = source.ends.get(position, position) + 1 if sign in "([{" else position + 1
    return None


def values(source):
    """What is given back, kept or computed as a truth value."""
    result = []
    patterns = (r"(?m)^ *return (?P<value>[^\n]+)$", r"(?m)^ *(?:let|var) \w+(?:: Bool)? = (?P<value>[^\n]+)$",
                r"(?m)^ *[\w.]+ = (?P<value>[^\n]+)$", r"\bBool \{ (?P<value>(?!get\b)[^\n]+) \}\n")
    for pattern in patterns:
        for match in re.finditer(pattern, source.mask):
            start, end = match.span("value")
            value = match.group("value")
            if value.count("(") != value.count(")") or value.count("{") != value.count("}") or value[-1] in "?{([,":
                continue
            if not DECIDING.search(value) and pattern != patterns[-1]:
                continue
            # An assignment is the whole statement's, which goes as a whole.
            if re.match(r"^(true|false)$", value) and "return" not in match.group():
                continue
            result += condition(source, start, end)
    return result


def statements(source):
    result = []
    for start, block in source.around.items():
        if block is not None and source.mask[block] != "{":
            continue
        position = start
        while position < len(source.mask) and source.mask[position] == " ":
            position += 1
        before = source.mask[:start].rstrip()
        label = before.rsplit("\n", 1)[-1].lstrip().startswith(("case ", "default:")) and before.endswith(":")
        if before and not label and (before[-1] in ",=(&|?:+-<>" or before.endswith(" in") and before[-4:] != "} in"):
            if not before.endswith(" in"):
                continue
        result += statement(source, position, block)
    for block, end in source.ends.items():
        if source.mask[block] != "{" or "\n" in source.mask[block:end]:
            continue
        header = re.match(r"\{ (?:[^{}=]*\bin )?", source.mask[block:end])
        if header and not is_taken(source, block, end):
            result += statement(source, block + header.end(), block, source.trimmed(block + 1, end)[1])
    return result


def is_taken(source, block, end):
    """Whether a closure on one line gives a value to the statement that it stands in."""
    takes = re.match(r"\s*((let|var|return|throw)\b|[\w.]+ = )", source.header(block))
    return bool(takes) and " = " not in source.mask[block:end]


def statement(source, start, block, limit=None):
    match = re.match(r"(_ = )?(try\??)?", source.mask[start:])
    first = re.match(r"(?:_ = )?(?:try\?? )?([A-Za-z_$]\w*)", source.mask[start:])
    if not first or first.group(1) in WORDS:
        return []
    end = limit if limit is not None else statement_end(source, start)
    text = source.mask[start:end]
    if not re.search(r"[)}]$", text) and not re.search(r" (=|[-+&*|]+=) ", text) or ";" in text:
        return []
    if gives_value(source, start, end, block):
        return []
    result = [Mutant("delete", start, end, "if Mutants.isOff(#) { ", " }")]
    if match.group(2) == "try" and not match.group(1):
        # One letter shorter, so that it stands inside.
        result.append(Mutant("swallow", start, end, "do { ", " } catch { if Mutants.isOff(#) { throw error } }"))
    return result


def statement_end(source, start):
    position = start
    while position < len(source.mask):
        sign = source.mask[position]
        if sign in "([{" and position in source.ends:
            position = source.ends[position] + 1
            continue
        if sign in ")]}":
            return source.trimmed(start, position)[1]
        if sign == "\n":
            rest = source.mask[position:].lstrip()
            if not rest.startswith((".", "?", ":", "&&", "||", "+ ", "- ", "{")) and source.mask[position - 1] not in "=,+":
                return source.trimmed(start, position)[1]
        position += 1
    return position


def gives_value(source, start, end, block):
    """Whether a block is this alone, and has a value."""
    if block is None:
        return True
    alone = not source.mask[block + 1:start].split("in ")[-1].strip() and not source.mask[end:source.ends[block]].strip()
    header = source.header(block)
    if re.search(r"\b(struct|class|enum|extension|protocol)\b", header):
        return True
    # What initialises a property cannot be left out.
    if re.search(r"\binit\b", header) and re.match(r"self\.init\(|(self\.)?\w+ = |\([\w, ]+\) = ", source.mask[start:]):
        return True
    return alone and bool(re.search(r"->|\bvar\b|\bsubscript\b|\bget\b", header))


def swaps(source):
    """The order in which two lists are put together."""
    result = []
    for match in re.finditer(r"= (?P<left>[a-z]\w*(?:\.\w+)*)(?P<plus> \+ )(?P<right>[a-z]\w*(?:\.\w+)*)\n", source.mask):
        result.append(Mutant("swap", match.start("left"), match.end("right"), "Mutants.joined(#, ", ")",
                             (match.start("plus"), match.end("plus"), ", ")))
    return result
