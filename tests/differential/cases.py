"""The list of programs in cases.txt."""

import os
import shlex

HERE = os.path.dirname(os.path.abspath(__file__))


class Case:
    def __init__(self, text):
        name, options, command = (part.strip() for part in text.split("|", 2))
        self.name = name
        self.command = command
        self.status = 0
        self.cut = self.engine = self.varies = False
        for option in options.split():
            key, _, value = option.partition("=")
            if key == "status":
                self.status = int(value)
            elif key in ("cut", "engine", "varies"):
                setattr(self, key, True)
            else:
                raise ValueError(f"{name}: unknown option {option}")

    def arguments(self, programs, work):
        places = {"P": programs, "D": os.path.join(HERE, "data"), "W": work}
        return [word.format(**places) for word in shlex.split(self.command)]


def read(path=os.path.join(HERE, "cases.txt")):
    with open(path, encoding="utf-8") as file:
        lines = [text.strip() for text in file]
    cases = [Case(text) for text in lines if text and not text.startswith("#")]
    return {case.name: case for case in cases}


def write_inputs(work):
    """bytes.bin and words.txt: real and made-up data, the same in every run."""
    with open("/bin/bash", "rb") as file:
        data = file.read(24 * 1024)
    with open(os.path.join(work, "bytes.bin"), "wb") as file:
        file.write(data)
    state = 1
    with open(os.path.join(work, "words.txt"), "w", encoding="utf-8") as file:
        for _ in range(1500):
            word = ""
            for _ in range(3 + state % 7):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                word += chr(ord("a") + (state >> 33) % 26)
            file.write(f"{word} {(state >> 40) % 10000}\n")
