"""What the mutations of Swift and of C share: a source text, and the positions where faults are put into it."""
import re
from dataclasses import dataclass

OPEN, CLOSE = "([{", ")]}"


@dataclass
class Mutant:
    """A fault that can be switched on: what is put in front of a piece of text, behind it, and in place of its middle."""
    kind: str           # delete, swallow, invert, boundary, unbind, swap
    start: int
    end: int
    before: str         # with # for the mutant's number
    after: str
    middle: tuple = ()  # (start, end, text)
    file: str = ""
    line: int = 0
    code: str = ""
    nth: int = 0
    number: int = 0

    @property
    def key(self):
        return f"{self.file}|{self.kind}|{self.code}|{self.nth}"


class Source:
    """A text, and its mask: as long, with what stands in comments and strings made blank."""

    def __init__(self, text, mask):
        self.text, self.mask = text, mask
        self.ends, self.starts, self.around = self.match()

    def match(self):
        """The position of each bracket's partner, both ways; and for each line's start the bracket that it stands in."""
        ends, starts, around, stack = {}, {}, {}, []
        around[0] = None
        for position, sign in enumerate(self.mask):
            if sign in OPEN:
                stack.append(position)
            elif sign in CLOSE and stack:
                start = stack.pop()
                ends[start], starts[position] = position, start
            elif sign == "\n":
                around[position + 1] = stack[-1] if stack else None
        return ends, starts, around

    def line(self, position):
        return self.text.count("\n", 0, position) + 1

    def header(self, block):
        """What stands before a block, from the line on which its declaration or statement begins."""
        start = self.mask.rfind("\n", 0, block) + 1
        first, _ = self.trimmed(start, block)
        if self.mask[first] == ")" and first in self.starts:
            start = self.mask.rfind("\n", 0, self.starts[first]) + 1
        return self.mask[start:block]

    def function(self, line):
        """The lines of the function that a line of Swift stands in."""
        for block, end in sorted(self.ends.items()):
            first, last = self.line(block), self.line(end)
            is_type = re.search(r"^[^(]*\b(struct|class|enum|extension|protocol)\b[^(]*$", self.header(block))
            if self.mask[block] == "{" and first <= line <= last and not is_type:
                return range(first, last + 1)
        return range(line, line)

    def trimmed(self, start, end):
        while start < end and self.mask[start].isspace():
            start += 1
        while end > start and self.mask[end - 1].isspace():
            end -= 1
        return start, end

    def split(self, start, end, pattern):
        """The pieces of a range between what matches outside of every bracket, and the matches."""
        pieces, found, position, begin = [], [], start, start
        while position < end:
            if self.mask[position] in OPEN and position in self.ends:
                position = self.ends[position] + 1
                continue
            match = pattern.match(self.mask, position, end)
            if match:
                pieces.append((begin, position))
                found.append(match)
                position = begin = match.end()
                continue
            position += 1
        pieces.append((begin, end))
        return [self.trimmed(*piece) for piece in pieces], found

    def finish(self, mutants, file):
        """Names the mutants, in the order of their positions."""
        counts = {}
        mutants.sort(key=lambda mutant: (mutant.start, mutant.end))
        for mutant in mutants:
            mutant.file, mutant.line = file, self.line(mutant.start)
            mutant.code = re.sub(r"\s+", " ", self.text[mutant.start:mutant.end])[:160].replace("|", "¦")
            same = (mutant.kind, mutant.code)
            mutant.nth = counts[same] = counts.get(same, 0) + 1
        return mutants

    def mutated(self, mutants):
        """The text with all of these, each to be chosen when the program runs. No line becomes another."""
        edits = []
        for order, mutant in enumerate(mutants):
            length = mutant.end - mutant.start
            # What begins or ends at one position is nested: the longer around the shorter, the first around the next.
            edits.append((mutant.start, 2, -length, order, mutant.start, mutant.before.replace("#", str(mutant.number))))
            edits.append((mutant.end, 0, length, -order, mutant.end, mutant.after.replace("#", str(mutant.number))))
            if mutant.middle:
                start, end, text = mutant.middle
                edits.append((start, 1, 0, 0, end, text))
        result, position = [], 0
        for start, _, _, _, end, text in sorted(edits, key=lambda edit: edit[:4]):
            result += [self.text[position:start], text]
            position = max(end, start)
        return "".join(result) + self.text[position:]


def operands(source, start, end, wrap, compare, logical, comparing):
    """Mutants of a condition: each operand of `&&` and `||` inverted, each comparison by one."""
    result = []
    pieces, _ = source.split(start, end, logical)
    for piece in pieces:
        if piece[0] == piece[1]:
            continue
        result.append(Mutant("invert", *piece, *wrap))
        sides, found = source.split(*piece, comparing)
        if len(found) == 1 and all(left < right for left, right in sides):
            before = compare[found[0].group().strip()]
            result.append(Mutant("boundary", sides[0][0], sides[1][1], before, ")",
                                 (sides[0][1], sides[1][0], ", ")))
    return result
