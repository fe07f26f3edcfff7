"""What `tile` of `hodo serve` answers, a list for each field, as slices one by one."""


def thread_of(tile, name):
    """Whose a slice is: of a processor's tile its name says it, and of several threads nobody is."""
    if "thread" in tile:
        return tile["thread"]
    return tile["names"][name]["thread"] if name >= 0 else ""


def in_slices(tile):
    """The answer with "slices" in each row: from, to, name, moment, count, and open where the end is not known."""
    for row in tile["rows"]:
        at = branch = 0
        row["slices"] = []
        for gap, length, name, step, count in zip(*(row[field] for field in ("gap", "length", "name", "branch", "count")), strict=True):
            begin, at, branch = at + gap, at + gap + length, branch + step
            row["slices"].append({"from": begin, "to": at, "name": name, "moment": f"{thread_of(tile, name)}:{branch}", "count": count})
        for number in row["open"]:
            row["slices"][number]["open"] = True
    return tile
