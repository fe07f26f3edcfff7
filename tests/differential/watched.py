"""Branch lists from the watcher plugin's log of executed blocks (its format: plugin/watcher.cc).

A branch is what one block's last instruction did to reach the next block. Lines are those of
branch_list.py, packed. What the blocks do not explain becomes a "gap" line, which no other list has.
"""

import array
import os
import re

from branch_list import BranchList, NUMBERS, BRANCH, packed as line

LAST_REACHED = 1 << 31
SIGNAL_MARK = 0x7FFFFFFF
SIGNAL_WORDS = 5
AT_ONCE = 1 << 18  # words whose steps are looked up together: what that takes besides is some megabytes

PREFIXES = {"bnd", "notrack", "data16", "rep", "repz", "repne", "repnz", "lock", "addr32", "cs", "ds"}
CONDITIONAL = re.compile(r"j(?!mp)[a-z]+|loop[a-z]*")
DIRECT = re.compile(r"0x[0-9a-f]+|[0-9]+")


class Block:
    """A translated block, and what its last instruction is."""

    __slots__ = ("start", "last", "fall", "kind", "target")

    def __init__(self, start, last, fall, text):
        self.start, self.last, self.fall = start, last, fall
        self.kind, self.target = classify(text)


def classify(text):
    """(kind, direct target or None) of an instruction as QEMU disassembles it; kind "" = no branch."""
    words = text.split()
    while len(words) > 1 and words[0] in PREFIXES:
        del words[0]
    name, operand = words[0], words[1] if len(words) > 1 else ""
    target = int(operand, 0) if DIRECT.fullmatch(operand) else None
    if CONDITIONAL.fullmatch(name):
        return "cond", target
    if re.fullmatch(r"jmp[qlw]?", name):
        return ("jmp" if target is not None else "ijmp"), target
    if re.fullmatch(r"call[qlw]?", name):
        return ("call" if target is not None else "icall"), target
    if re.fullmatch(r"ret[qlw]?", name):
        return "ret", None
    if name in ("syscall", "sysenter"):
        return "syscall", None
    if re.fullmatch(r"int[13o]?", name):
        return "int", None
    if re.fullmatch(r"iret[qlwd]?", name):
        return "iret", None
    if re.fullmatch(r"(ljmp|lcall|lret|retf)[qlw]?", name):
        return "far", None
    return "", None


def leaves_user_mode(block):
    return block.kind in ("syscall", "int")


def step(word, block, reached_ip):
    """The lines of going from `block` (logged as `word`) to the address `reached_ip`, as one piece."""
    if not word & LAST_REACHED:
        # Cut short: QEMU starts again inside the block, to translate an instruction that crosses a
        # page, to repeat one that needs exclusive access, or that wrote to its own page.
        if block.start <= reached_ip <= block.last:
            return b""
        return line("gap", block.last, reached_ip)
    if leaves_user_mode(block):
        return line(block.kind, block.last, 0) + line("begin", 0, reached_ip)
    if block.kind == "" or block.kind == "cond":
        if reached_ip == block.fall:
            return b""
    if block.target is not None:
        if reached_ip == block.target:
            return line(block.kind, block.last, reached_ip)
    elif block.kind != "" and reached_ip != block.last:
        return line(block.kind, block.last, reached_ip)
    if reached_ip == block.last:  # the last instruction again: a REP string, or started anew
        return b""
    return line("gap", block.last, reached_ip)


def is_gap(lines):
    return any(kind == NUMBERS["gap"] for kind, _, _ in BRANCH.iter_unpack(lines))


def signal(word, block, handler, interrupted):
    """The lines of going from `block` into a signal handler that interrupted `interrupted`."""
    if word & LAST_REACHED and leaves_user_mode(block):
        return step(word, block, handler)  # delivered on the way back from the call
    # A fault leaves the thread at an instruction of the block, which step() takes for one that
    # starts anew: no branch was taken.
    before = step(word, block, interrupted)
    if is_gap(before) and block.target == handler:
        return step(word, block, handler)  # a jump from one handler to another, no signal
    return before + line("end", interrupted, 0) + line("begin", 0, handler)


def read_blocks(directory, name):
    """{id: Block} of one process image, with its parents' blocks."""
    blocks = {}
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        header = file.readline().split()
        if header[:2] != ["hodo-watcher", "1"]:
            raise ValueError(f"{name}: not a watcher log")
        fields = dict(word.split("=", 1) for word in header[3:])
        if fields["parent"] != "-":
            base = int(fields["base"])
            inherited = read_blocks(directory, fields["parent"])
            blocks = {key: block for key, block in inherited.items() if key <= base}
        for text in file:
            if not text.endswith("\n"):
                break  # killed while writing it
            number, start, last, fall, _, instruction = text.rstrip("\n").split(" ", 5)
            blocks[int(number)] = Block(int(start, 16), int(last, 16), int(fall, 16), instruction)
    return blocks


def read_words(path):
    words = array.array("I")
    with open(path, "rb") as file:
        data = file.read()
    words.frombytes(data[: len(data) // 4 * 4])
    return words


def pairs(words):
    """Each word but the last, with the next one, as one number: the next one is the upper half."""
    data = words.tobytes()
    out = array.array("Q", bytes(8 * (len(words) - 1)))
    out[::2] = array.array("Q", data[: len(data) // 8 * 8])
    out[1::2] = array.array("Q", data[4 : 4 + (len(data) - 4) // 8 * 8])
    return out


class Steps(dict):
    """A pair of words -> the lines of that step; before the first word comes 0"""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def block(self, word):
        return self.blocks[word & ~LAST_REACHED]

    def __missing__(self, pair):
        previous, word = pair & 0xFFFFFFFF, pair >> 32
        start = self.block(word).start
        self[pair] = lines = line("begin", 0, start) if previous == 0 else step(previous, self.block(previous), start)
        return lines


class Derivation:
    """Turns the words of one run log into lines."""

    def __init__(self, blocks):
        self.steps = Steps(blocks)
        self.block = self.steps.block

    def plain(self, words, previous, out):
        """Appends the lines of a stretch without signals; returns its last word."""
        if words.count(0):
            words = array.array("I", filter(None, words))
        for begin in range(0, len(words), AT_ONCE):
            part = words[begin : begin + AT_ONCE]
            # Without a loop of Python's: most words come in pairs that came before.
            out.append(b"".join(map(self.steps.__getitem__, pairs(array.array("I", (previous,)) + part))))
            previous = part[-1]
        return previous

    def lines(self, words):
        """(lines, whole): whole = the log ends in a system call, not in the middle of something."""
        out = []
        previous = 0
        position = 0
        while position < len(words):
            try:
                mark = words.index(SIGNAL_MARK, position)
            except ValueError:
                mark = len(words)
            if mark == len(words):
                previous = self.plain(words[position:], previous, out)
                break
            # The word before the mark is the handler's first block.
            previous = self.plain(words[position : mark - 1], previous, out)
            handler = words[mark - 1]
            _, _, low, high = words[mark + 1 : mark + SIGNAL_WORDS]
            start = self.block(handler).start
            if previous == 0:
                out.append(line("begin", 0, start))
            else:
                out.append(signal(previous, self.block(previous), start, low | high << 32))
            previous = handler
            position = mark + SIGNAL_WORDS
        if previous & LAST_REACHED and leaves_user_mode(self.block(previous)):
            block = self.block(previous)
            out.append(line(block.kind, block.last, 0))
            return BranchList(b"".join(out)), True
        return BranchList(b"".join(out)), False


def read(directory):
    """{tid: (lines, whole)} of everything that a watcher's directory holds."""
    logs = []
    for name in os.listdir(directory):
        match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)\.run", name)
        if match:
            pid, sequence, tid = (int(group) for group in match.groups())
            logs.append((tid, pid, sequence, name))
    threads = {}
    images = {}
    for tid, pid, sequence, name in sorted(logs):
        image = f"{pid}.{sequence}.blocks"
        if image not in images:
            images[image] = Derivation(read_blocks(directory, image))
        words = read_words(os.path.join(directory, name))
        lines, whole = images[image].lines(words)
        before = threads.get(tid, (BranchList(), True))[0]
        threads[tid] = (before + lines, whole)
    return threads


if __name__ == "__main__":
    import sys

    for thread, (listed, complete) in sorted(read(sys.argv[1]).items()):
        print(f"# thread {thread}" + ("" if complete else ", cut off"))
        for text in listed:
            print(text)
