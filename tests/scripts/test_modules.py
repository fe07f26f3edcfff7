"""The modules of src/: what each one includes is what docs/architecture.md and CMake say it may."""

import graphlib
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def listed():
    """The modules in the order in which the top CMakeLists.txt has them."""
    return re.search(r"foreach\(module ([a-z ]+)\)", read("CMakeLists.txt"))[1].split()


def table():
    """Of the page's table: a module and what it depends on."""
    rows = re.findall(r"^\| `([a-z]+)` \| .+ \| ([a-z, ]+) \|$", read("docs", "architecture.md"), re.M)
    return {name: set() if deps == "nothing" else set(deps.split(", ")) for name, deps in rows}


def sources(module):
    """The module's private files, as paths in its folder."""
    top = os.path.join(ROOT, "src", module)
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != "include"]
        for name in names:
            if name.endswith((".cc", ".h", ".in")):
                yield os.path.relpath(os.path.join(folder, name), top)


def included(module):
    """Other modules whose headers the module includes, with one file that does."""
    out = {}
    for folder, _, names in os.walk(os.path.join(ROOT, "src", module)):
        for name in names:
            if not name.endswith((".cc", ".h", ".in")):
                continue
            for other in re.findall(r'#include [<"]hodo/([a-z]+)/', read(folder, name)):
                if other != module:
                    out[other] = os.path.relpath(os.path.join(folder, name), ROOT)
    return out


def rooms():
    """Of the page's second table: a room and which others of its module it uses; a module's own folder is a room."""
    rows = re.findall(r"^\| `([a-z/]+)`(?: itself)? \| .+ \| ([a-z, ]+) \|$", read("docs", "architecture.md"), re.M)
    modules = {name.split("/")[0] for name, _ in rows if "/" in name}
    text = read("docs", "architecture.md")
    own = set(re.findall(r"^\| `([a-z]+)` itself \|", text, re.M))
    return {name: set() if uses == "nothing" else set(uses.split(", "))
            for name, uses in rows if "/" in name or name in own}, modules


def room_includes(module):
    """The rooms of a module, each with the others whose private headers it includes."""
    out, paths = {}, set(sources(module))
    for path in paths:
        here = os.path.dirname(path)
        used = out.setdefault(os.path.join(module, here).rstrip("/"), {})
        for named in re.findall(r'#include "(?!hodo/)([^"]+)"', read("src", module, path)):
            near = os.path.normpath(os.path.join(here, named))
            there = os.path.dirname(near if near in paths else named)
            if there != here:
                used[there or module] = path
    return out


def linked(module):
    """What the module's CMakeLists.txt links; those bring what they link themselves."""
    text = read("src", module, "CMakeLists.txt")
    deps = re.search(r"hodo_module\([^)]*?\bDEPS\s+([a-z\s]+)", text)
    if deps:
        return set(deps[1].split())
    target = re.search(rf"target_link_libraries\(hodo_{module}\s([^)]*)\)", text)
    return set(re.findall(r"hodo_([a-z]+)", target[1])) - {"options"} if target else set()


class Modules(unittest.TestCase):
    def test_the_table_has_all_modules_in_their_order(self):
        self.assertEqual(list(table()), listed())
        folders = {entry.name for entry in os.scandir(os.path.join(ROOT, "src")) if entry.is_dir()}
        self.assertEqual(set(listed()), folders)

    def test_a_module_includes_what_the_table_says(self):
        for module, said in table().items():
            found = included(module)
            with self.subTest(module):
                self.assertEqual({m: f for m, f in found.items() if m not in said}, {}, "not in the table")
                self.assertEqual(said - set(found), set(), "in the table, but not included")

    def test_a_room_uses_what_the_table_says(self):
        said, modules = rooms()
        for module in modules:
            found = room_includes(module)
            listed_rooms = {name for name in said if name.split("/")[0] == module}
            self.assertEqual(set(found) - listed_rooms - {module}, set(), "a room that is not in the table")
            for room in listed_rooms:
                with self.subTest(room):
                    used = found.get(room, {})
                    self.assertEqual({r: f for r, f in used.items() if r not in said[room]}, {}, "not in the table")
                    self.assertEqual(said[room] - set(used), set(), "in the table, but not used")

    def test_no_two_rooms_know_each_other(self):
        said, modules = rooms()
        for module in modules:
            uses = {name: {use if use == module else f"{module}/{use}" for use in used}
                    for name, used in said.items() if name.split("/")[0] == module}
            with self.subTest(module):
                graphlib.TopologicalSorter(uses).prepare()  # raises CycleError, which names them

    def test_modules_with_rooms_are_in_the_table(self):
        parted = {module for module in listed() if any("/" in path for path in sources(module))}
        self.assertEqual(parted, rooms()[1])

    def test_a_module_depends_only_on_those_above_it(self):
        order = listed()
        for module, said in table().items():
            with self.subTest(module):
                self.assertEqual({m for m in said if m not in order[: order.index(module)]}, set())

    def test_cmake_links_what_the_table_says(self):
        for module, said in table().items():
            reached, todo = set(), [module]
            while todo:
                new = linked(todo.pop()) - reached
                reached |= new
                todo += new
            with self.subTest(module):
                self.assertEqual(said - reached, set())

    def test_nobody_includes_what_a_module_keeps_to_itself(self):
        headers = {module: {name for name in sources(module) if name.endswith(".h")} for module in listed()}
        for module in listed():
            for path in sources(module):
                named = set(re.findall(r'#include "(?!hodo/)([^"]+)"', read("src", module, path)))
                near = {name for name in named if os.path.join(os.path.dirname(path), name) in headers[module]}
                self.assertEqual(named - near - headers[module], set(), f"src/{module}/{path}")


if __name__ == "__main__":
    unittest.main()
