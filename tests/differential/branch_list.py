"""Lists of branches as bytes, which are compared and searched at once: a start of python3 alone has a million.

To who looks at one it is a sequence of lines "KIND FROM TO" in hex, 0 for an absent address, with the kinds of `hodo branches`.
"""

import collections.abc
import struct

BRANCH = struct.Struct("=QQQ")  # kind, from, to
HEAD = struct.Struct("=qQ")  # of a thread's: its number, how many branches follow
# thread_lists.h has the same names in the same order.
KINDS = """cond jmp ijmp call icall ret syscall sysret int iret irq exc abort vmentry vmexit unknown begin end lost picked-up gap
other""".split()
NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
NO_KIND = 255  # of a list that has only addresses


def packed(kind, source, target):
    """One branch of a list."""
    return BRANCH.pack(NUMBERS[kind], source, target)


def _line(kind, source, target):
    addresses = f"{source:x} {target:x}"
    return addresses if kind == NO_KIND else f"{KINDS[kind]} {addresses}"


class BranchList(collections.abc.Sequence):
    __slots__ = ("data",)

    def __init__(self, data=b""):
        self.data = data

    @classmethod
    def of(cls, lines):
        """Of lines as above."""
        words = (line.split() for line in lines)
        return cls(b"".join(packed(kind, int(source, 16), int(target, 16)) for kind, source, target in words))

    def __len__(self):
        return len(self.data) // BRANCH.size

    def __getitem__(self, at):
        if isinstance(at, slice):
            begin, end, step = at.indices(len(self))
            if step != 1:
                raise ValueError("lists of branches have no steps")
            return BranchList(self.data[begin * BRANCH.size : end * BRANCH.size])
        at = range(len(self))[at]
        return _line(*BRANCH.unpack_from(self.data, at * BRANCH.size))

    def __iter__(self):
        return (_line(*branch) for branch in BRANCH.iter_unpack(self.data))

    def __add__(self, other):
        return BranchList(self.data + other.data)

    def __eq__(self, other):
        if isinstance(other, BranchList):
            return self.data == other.data
        return list(self) == other

    __hash__ = None

    def __repr__(self):
        return repr(list(self))

    def at(self, index):
        """(number of the kind, from, to)"""
        return BRANCH.unpack_from(self.data, index * BRANCH.size)

    def kinds(self):
        """A byte for each branch."""
        return self.data[:: BRANCH.size]  # the lowest byte comes first on x86

    def of_kind(self, kind):
        """The branches' indices, ascending."""
        kinds, wanted = self.kinds(), NUMBERS[kind]
        at = kinds.find(wanted)
        while at >= 0:
            yield at
            at = kinds.find(wanted, at + 1)

    def with_kinds(self, kinds):
        """The same addresses."""
        data = bytearray(self.data)
        data[:: BRANCH.size] = kinds
        return BranchList(bytes(data))

    def without(self, indices):
        """`indices`: ascending"""
        kept, begin = [], 0
        for at in indices:
            kept.append(self.data[begin * BRANCH.size : at * BRANCH.size])
            begin = at + 1
        return BranchList(b"".join((*kept, self.data[begin * BRANCH.size :])))


def read(data):
    """{thread: its list} as thread_lists.h writes them."""
    lists, at = {}, 0
    while at < len(data):
        thread, count = HEAD.unpack_from(data, at)
        begin, at = at + HEAD.size, at + HEAD.size + count * BRANCH.size
        if at > len(data):
            raise ValueError("a list of branches is cut off")
        lists[thread] = BranchList(data[begin:at])
    return lists
