"""Recordings of hodo, asked from Python: docs/python.md.

    import hodoscope

    with hodoscope.open("hodo.data") as recording:
        for process in recording.processes():
            print(process.pid, process.name, process.end)
        for block in recording.branches(last=200):
            print(block["from"], block["to"])
        crash = recording.moment("crash")
        print(crash.source_line, [call["function"] for call in crash.open_calls])

Questions release the interpreter's lock while they decode, and Ctrl-C ends them. What cannot be answered raises
hodoscope.Error with the words of the command.
"""

from __future__ import annotations

import json
import operator
import os
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Self, Sequence, Tuple, Type, Union

import numpy as np
import numpy.typing as npt

from . import _hodo
from ._hodo import Error

__all__ = [
    "ASYNC", "BRANCH_DTYPE", "Block", "Blocks", "CALL_DTYPE", "CallBlocks", "Error", "FAR", "Function", "IN_TX", "Json",
    "KINDS", "MISPREDICTED", "Moment", "MomentLike", "NOBODY", "NOT_TAKEN", "OUTCOMES", "PathLike", "Process", "RESYNC",
    "Recording", "TRACE_END", "Thread", "open",
]

__version__: str = _hodo.version

Json = Dict[str, Any]
Block = npt.NDArray[np.void]

BRANCH_DTYPE: np.dtype[Any] = _hodo.branch_dtype
"""A branch: what `hodo branches --format bin` writes, then number, insns, space."""

CALL_DTYPE: np.dtype[Any] = _hodo.call_dtype
"""A call, see Recording.calls."""

KINDS: Tuple[str, ...] = (
    "cond", "jmp", "ijmp", "call", "icall", "ret", "syscall", "sysret", "int", "iret", "irq", "exc", "abort",
    "vmentry", "vmexit", "unknown", "begin", "end", "lost",
)
"""Names of the numbers in a branch's `kind`."""

OUTCOMES: Tuple[str, ...] = ("returned", "skipped", "lost", "replaced", "open")
"""Names of the numbers in a call's `outcome`."""

NOT_TAKEN, ASYNC, TRACE_END, IN_TX, MISPREDICTED, FAR, RESYNC = (1 << bit for bit in range(7))
"""Bits of a branch's `flags`."""

NOBODY = 0xFFFFFFFF
"""A call's `caller` where none is known."""


class Function(NamedTuple):
    """A function by the number that a call's `function` has."""

    name: str
    object: str


@dataclass(frozen=True)
class Thread:
    """A thread that ran something. `id` is as moments name it, "4242", or "q0" in a bare trace."""

    id: str
    tid: int
    name: str
    branches: int
    instructions: int
    first_ns: Optional[int]
    last_ns: Optional[int]


@dataclass(frozen=True)
class Process:
    """A process that ran something. `end` says how it ended, or is empty where nobody knows."""

    pid: int
    name: str
    end: str
    threads: Tuple[Thread, ...]


class Moment:
    """A place on a thread's path: so many branches, so many instructions. Made by Recording.moment."""

    def __init__(self, recording: Recording, text: str) -> None:
        self._recording = recording
        self._text = text
        self._scene: Optional[Json] = None

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<hodoscope.Moment {self._text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moment) and self._text == other._text and self._recording is other._recording

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def thread(self) -> str:
        """"4242", or "q0" in a bare trace."""
        return self._text.split(":")[0]

    @property
    def branch(self) -> int:
        """The number of the thread's last branch before."""
        return int(self._text.split(":")[1].split("+")[0])

    def scene(self, around: int = 8) -> Json:
        """All there is to see here, as `hodo show --json`."""
        return self._recording.ask("scene", at=self._text, around=around)

    def _known(self) -> Json:
        if self._scene is None:
            self._scene = self.scene()
        return self._scene

    @property
    def time(self) -> Optional[int]:
        """Nanoseconds of the recording's clock, of the branch before."""
        time = self._known().get("time")
        return None if time is None else int(time)

    @property
    def stands_at(self) -> Optional[Json]:
        """The next instruction's place: address, function, object, file, line."""
        return self._known().get("stands_at")

    @property
    def source_line(self) -> str:
        """"FILE:LINE" of the next instruction; empty where that is unknown."""
        place = self.stands_at or {}
        return f"{place['file']}:{place['line']}" if place.get("file") else ""

    @property
    def open_calls(self) -> List[Json]:
        """Innermost first."""
        return list(self._known()["calls"])

    def step(self, *steps: str) -> Moment:
        """On by "insn", "line", "over", "call", "return" or "out"; back with a "-" in front. One after the other."""
        return self._to(steps=list(steps))

    def next(self, what: str) -> Moment:
        """Where the thread next comes to a function, FILE:LINE or address."""
        return self._to(next=what)

    def previous(self, what: str) -> Moment:
        """Where the thread last came to a function, FILE:LINE or address."""
        return self._to(previous=what)

    def _to(self, **how: Any) -> Moment:
        return Moment(self._recording, self._recording.ask("moment", at=self._text, **how)["moment"])


class Blocks:
    """An iterator over blocks of rows: NumPy arrays of a structured type. A thread decodes meanwhile."""

    def __init__(self, blocks: Union[_hodo.BranchBlocks, _hodo.CallBlocks]) -> None:
        self._blocks = blocks

    def __iter__(self) -> Iterator[Block]:
        return self

    def __next__(self) -> Block:
        return self._blocks.__next__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Ends the decoding."""
        self._blocks.close()

    @property
    def losses(self) -> Optional[List[Json]]:
        """What the rows could not be made from; None before the last block has been taken."""
        known: Optional[List[Json]] = json.loads(self._blocks.losses_json())
        return known

    def all(self) -> Block:
        """All that is left in one array. Needs the memory for it."""
        blocks = list(self)
        return np.concatenate(blocks) if blocks else np.empty(0, dtype=self._dtype())

    def _dtype(self) -> np.dtype[Any]:
        return BRANCH_DTYPE


class CallBlocks(Blocks):
    """Blocks of calls, with the functions that they are of."""

    def __init__(self, blocks: _hodo.CallBlocks) -> None:
        super().__init__(blocks)
        self._calls = blocks

    def functions(self) -> List[Function]:
        """Those met so far, by number."""
        return [Function(os.fsdecode(name), os.fsdecode(file)) for name, file in self._calls.functions()]

    def _dtype(self) -> np.dtype[Any]:
        return CALL_DTYPE


PathLike = Union[str, "os.PathLike[str]"]
MomentLike = Union[str, Moment]


def _named(thread: Union[str, int, Thread, None]) -> str:
    if thread is None:
        return ""
    return thread.id if isinstance(thread, Thread) else str(thread)


def _whole(name: str, number: int, most: int) -> int:
    try:
        whole = operator.index(number)
    except TypeError:
        whole = -1
    if not 0 <= whole <= most:
        error = Error(f"{name} is to be a whole number from 0 to {most}, and not {number!r}")
        error.cause = "usage"
        raise error
    return whole


def _pid(pid: Optional[int]) -> int:
    return -1 if pid is None else _whole("pid", pid, 2**31 - 1)


class Recording:
    """An open recording. Any thread may ask it; questions wait for each other."""

    def __init__(self, path: PathLike = "hodo.data", *, symfs: PathLike = "", index: bool = True,
                 raw: str = "", images: Sequence[str] = (), bits: int = 64,
                 substitute_path: Sequence[str] = ()) -> None:
        """symfs, raw, images, bits, substitute_path: as the commands' options of these names. index: one may be made,
        and kept."""
        self._core: Optional[_hodo.Recording] = _hodo.Recording(
            os.fsencode(path), symfs=os.fsencode(symfs), index=index, raw=raw,
            images=[os.fsencode(image) for image in images], bits=bits,
            substitute_path=[os.fsencode(rule) for rule in substitute_path])

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Frees what is kept of it. Blocks that are being iterated go on."""
        self._core = None

    def _open(self) -> _hodo.Recording:
        if self._core is None:
            raise ValueError("the recording is closed")
        return self._core

    @property
    def path(self) -> str:
        return os.fsdecode(self._open().path)

    def ask(self, method: str, **params: Any) -> Json:
        """Any method of `hodo serve` (docs/serve.md)."""
        given = {name: value for name, value in params.items() if value is not None}
        answer: Json = json.loads(self._open().ask(method, json.dumps(given)))
        return answer

    def info(self) -> Json:
        """What was recorded, and what of it is missing (`losses`)."""
        return self.ask("info")

    def processes(self) -> List[Process]:
        """Those that ran something, in the order of their appearance."""
        out = []
        for one in self.info()["processes"]:
            threads = tuple(
                Thread(t["thread"], t["tid"], t["name"], t["branches"], t["instructions"], t["first_ns"], t["last_ns"])
                for t in one["threads"])
            out.append(Process(one["pid"], one["name"], one.get("end", ""), threads))
        return out

    def losses(self) -> List[Json]:
        """What is missing from the recording; empty if nothing is."""
        return list(self.info()["losses"])

    def stats(self) -> Json:
        """As `hodo stats --json`."""
        return self.ask("stats")

    def report(self, top: int = 10) -> Json:
        """As `hodo report --json`."""
        return self.ask("report", top=top)

    def coverage(self, module: str = "", parts: Optional[Sequence[str]] = None) -> Json:
        """As `hodo coverage --json`: of files whose path contains `module`, of these parts only."""
        return self.ask("coverage", module=module, parts=None if parts is None else list(parts), limit=0)

    def functions(self, module: str = "") -> List[Json]:
        """Functions that ran, with `module`, the path of their file, and how often."""
        out = []
        for file in self.coverage(module, ["functions"])["modules"]:
            out += [dict(function, module=file["path"]) for function in file["functions"] if function["blocks_hit"]]
        return out

    def findings(self) -> Json:
        """As `hodo check --json`."""
        return self.ask("findings")

    def crash(self, around: int = 12) -> Json:
        """How each process ended, as `hodo crash --json`."""
        return self.ask("ends", around=around)

    def code(self, function: str, **how: Any) -> Json:
        """A function's source and instructions with counts, as `hodo annotate --json`, with the source's text."""
        return self.ask("code", function=function, **how)

    def search(self, text: str, limit: int = 100) -> List[Json]:
        """Functions, files, lines, addresses, processes and moments by what one types."""
        return list(self.ask("search", text=text, limit=limit)["found"])

    def list(self, function: str, *, thread: Union[str, int, Thread, None] = None, pid: Optional[int] = None,
             slower_than_ns: int = 0, sort: str = "order", limit: int = 0) -> Json:
        """Every call of a function, as `hodo list --json`. limit 0: all."""
        return self.ask("calls", function=function, thread=_named(thread) or None, pid=pid,
                        slower_than_ns=slower_than_ns, sort=sort, limit=limit)

    def moment(self, text: MomentLike, *, thread: Union[str, int, Thread, None] = None,
               pid: Optional[int] = None) -> Moment:
        """What somebody wrote for one: "4242:1700+3", "crash", "end", "call:parse#17", "line:foo.cc:42#2", a time."""
        answer = self.ask("moment", at=str(text), thread=_named(thread) or None, pid=pid)
        return Moment(self, answer["moment"])

    def diff(self, other: Union["Recording", PathLike, None] = None, *, call: Optional[str] = None,
             other_call: Optional[str] = None, thread: Union[str, int, Thread, None] = None,
             other_thread: Union[str, int, Thread, None] = None, top: int = 20) -> Json:
        """Where two recordings, calls or threads part and meet again, as `hodo diff --json`."""
        path = other.path if isinstance(other, Recording) else None if other is None else os.fspath(other)
        return self.ask("diff", other=path, call=call, other_call=other_call, thread=_named(thread) or None,
                        other_thread=_named(other_thread) or None, top=top)

    def branches(self, *, thread: Union[str, int, Thread, None] = None, pid: Optional[int] = None,
                 at: MomentLike = "", around: int = 0, from_: MomentLike = "", to: MomentLike = "", last: int = 0,
                 call: str = "", function: str = "", module: str = "", not_taken: bool = False,
                 block: int = 65536) -> Blocks:
        """Blocks of BRANCH_DTYPE, of at most `block` rows, thread after thread. The others: as `hodo branches` takes
        them. Nothing is decoded twice, and at most four blocks are in memory."""
        return Blocks(self._open().branches(
            thread=_named(thread), pid=_pid(pid), at=str(at), from_=str(from_), to=str(to),
            around=_whole("around", around, 2**63), last=_whole("last", last, 2**63), call=call, function=function,
            module=module, not_taken=not_taken, block=_whole("block", block, 2**63)))

    def calls(self, *, thread: Union[str, int, Thread, None] = None, pid: Optional[int] = None,
              block: int = 65536) -> CallBlocks:
        """Every call, in blocks of CALL_DTYPE, in the order in which they ended; those that were still open last.
        Calls that the compiler inlined are none of them; list() has those, too."""
        return CallBlocks(self._open().calls(thread=_named(thread), pid=_pid(pid), block=_whole("block", block, 2**63)))


def open(  # noqa: A001: as every module that opens files
        path: PathLike = "hodo.data", *, symfs: PathLike = "", index: bool = True, raw: str = "",
        images: Sequence[str] = (), bits: int = 64, substitute_path: Sequence[str] = ()) -> Recording:
    """The same as Recording."""
    return Recording(path, symfs=symfs, index=index, raw=raw, images=images, bits=bits,
                     substitute_path=substitute_path)
