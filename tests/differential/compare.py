"""Compares two programs' branch lists, thread by thread and line by line."""

CONTEXT = 20


def first_difference(left, right):
    """The index of the first line that differs, or the shorter length; None if equal."""
    if left == right:
        return None
    low, high = 0, min(len(left), len(right))
    while low < high:  # the first `low` lines are equal, the first `high` are not
        middle = (low + high) // 2
        if left[low : middle + 1] == right[low : middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low


def context(name, listed, index):
    yield f"--- {name}: {len(listed)} lines"
    for at in range(max(0, index - CONTEXT), min(len(listed), index + CONTEXT + 1)):
        yield f"{'>' if at == index else ' '} {at:9d} {listed[at]}"
    if index >= len(listed):
        yield f"> {index:9d} (the list has ended)"


def threads(left_name, left, right_name, right, tolerated_tail=None):
    """A report of the first divergence in each thread, as lines; empty when all are equal.

    tolerated_tail: {tid: lines by which one list may be longer}, for threads that were killed.
    """
    report = []
    for tid in sorted(left.keys() | right.keys()):
        if tid not in left or tid not in right:
            owner = left_name if tid in left else right_name
            report.append(f"thread {tid} is only in {owner}'s list")
            continue
        index = first_difference(left[tid], right[tid])
        if index is None:
            continue
        shorter = min(len(left[tid]), len(right[tid]))
        longer = max(len(left[tid]), len(right[tid]))
        if index == shorter and longer - shorter <= (tolerated_tail or {}).get(tid, 0):
            continue
        before = left[tid][index - 1] if index > 0 else None
        times = left[tid][:index].count(before)
        report.append(f"thread {tid}: first difference at line {index}, after {before!r}"
                      f" (the {times}. time it occurs)")
        report.extend(context(left_name, left[tid], index))
        report.extend(context(right_name, right[tid], index))
    return report
