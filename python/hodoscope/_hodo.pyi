"""The part of the package that is C++. Use hodoscope's own classes."""

from typing import Any

import numpy as np
import numpy.typing as npt

version: str
branch_dtype: np.dtype[Any]
call_dtype: np.dtype[Any]

class Error(Exception):
    cause: str

class BranchBlocks:
    def __iter__(self) -> BranchBlocks: ...
    def __next__(self) -> npt.NDArray[np.void]: ...
    def close(self) -> None: ...
    def losses_json(self) -> str: ...

class CallBlocks:
    def __iter__(self) -> CallBlocks: ...
    def __next__(self) -> npt.NDArray[np.void]: ...
    def close(self) -> None: ...
    def losses_json(self) -> str: ...
    def functions(self) -> list[tuple[bytes, bytes]]: ...

class Recording:
    def __init__(
        self,
        path: bytes,
        *,
        symfs: bytes = ...,
        index: bool = ...,
        raw: str = ...,
        images: list[bytes] = ...,
        bits: int = ...,
        substitute_path: list[bytes] = ...,
    ) -> None: ...
    @property
    def path(self) -> bytes: ...
    def ask(self, method: str, params: str) -> str: ...
    def branches(
        self,
        *,
        thread: str,
        pid: int,
        at: str,
        from_: str,
        to: str,
        around: int,
        last: int,
        call: str,
        function: str,
        module: str,
        not_taken: bool,
        block: int,
    ) -> BranchBlocks: ...
    def calls(self, *, thread: str, pid: int, block: int) -> CallBlocks: ...
