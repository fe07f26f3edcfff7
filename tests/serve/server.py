"""hodo serve, asked: a client that holds every answer against the method's schema."""

import json
import os
import select
import subprocess

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
         "number": (int, float)}
WAIT = 120  # seconds for an answer: far more than any takes


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


def fits(schema, value, path):
    """Whether a value is as the part of JSON Schema says that the methods use, and all of it is told there."""
    types = schema.get("type")
    if types:
        types = types if isinstance(types, list) else [types]
        good = any(isinstance(value, TYPES[t]) and not (isinstance(value, bool) and t != "boolean") for t in types)
        check(good, f"{path} is no {types}: {str(value)[:100]}")
    if "enum" in schema and value is not None:
        check(value in schema["enum"], f"{path}: {value} is none of {schema['enum']}")
    if "minimum" in schema and value is not None:
        check(value >= schema["minimum"], f"{path}: {value} is less than {schema['minimum']}")
    if "maximum" in schema and value is not None:
        check(value <= schema["maximum"], f"{path}: {value} is more than {schema['maximum']}")
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            check(name in value, f"{path} has no {name}")
        for name, part in value.items() if "properties" in schema else ():
            check(name in schema["properties"], f"{path}.{name} is in no schema")
            fits(schema["properties"][name], part, f"{path}.{name}")
    if isinstance(value, list) and "items" in schema:
        for number, part in enumerate(value):
            fits(schema["items"], part, f"{path}[{number}]")


class Server:
    def __init__(self, hodo, *words, cwd=None, env=None, before=None):
        self.process = subprocess.Popen([hodo, "serve", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=cwd, env=env, preexec_fn=before)
        self.schema, self.number, self.told, self.read = {}, 0, [], b""
        self.schema = {m["name"]: m for m in self.ask("schema")["methods"]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def send(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else line.encode())
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def line(self):
        while b"\n" not in self.read:
            ready, _, _ = select.select([self.process.stdout], [], [], WAIT)
            check(ready, "no answer")
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                raise Failed("hodo serve ended: " + self.process.stderr.read().decode())
            self.read += more
        line, self.read = self.read.split(b"\n", 1)
        return json.loads(line)

    def answer(self):
        """The next message that is no notification."""
        while True:
            message = self.line()
            if isinstance(message, dict) and "method" in message:
                self.told.append(message)
                continue
            return message

    def reply(self, method, **params):
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        message = self.answer()
        check(message.get("id") == self.number, f"{method}: {message}")
        return message

    def ask(self, method, **params):
        message = self.reply(method, **params)
        check("result" in message, f"{method} {params}: {message.get('error')}")
        if method in self.schema:
            fits(self.schema[method]["result"], message["result"], method)
        return message["result"]

    def refused(self, method, **params):
        message = self.reply(method, **params)
        check("error" in message, f"{method} {params} was answered")
        return message["error"]

    def end(self):
        """Closes its input; the exit status."""
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait(WAIT)
