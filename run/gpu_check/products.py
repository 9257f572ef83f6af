# SPDX-License-Identifier: BSD-3-Clause
"""The algorithms of matrix products that the runs report, and the limits that they pass."""

from reports import cell, line_of, measured

FIELDS = ("reading", "m", "n", "k", "multiprocessors", "blocks")
HEADS = ("read", "m", "n", "k", "limit", "blocks", "first", "over", "ms")
WIDTHS = (6, 7, 7, 6, 6, 7, 6, 6, 10)
ABOVE = (
    "first: the algorithm that its class of products takes; over: more thread blocks than the "
    "limit of multiprocessors\n"
)


def is_refused(one):
    return isinstance(one.get("refused"), str)


def is_limited(one):
    return one.get("multiprocessors") is not None


def passes_its_limit(one):
    """Whether it launches more thread blocks than its limit of multiprocessors; None where it has
    no limit or its blocks are not known."""
    if is_limited(one) and one.get("confined"):
        return False  # whatever it launches, it keeps to the limit
    is_known = is_limited(one) and one.get("blocks") is not None
    return one["blocks"] > one["multiprocessors"] if is_known else None


def text_of(one, field):
    value = one.get(field)
    return "-" if value is None else cell(value)


def class_of(one):
    """Such as "fp16 180000 x 8192, K = 2048"."""
    reading, m, n, k, limit = [one.get(field, "-") for field in FIELDS[:5]]
    limited = f", {limit} multiprocessors" if is_limited(one) else ""
    return f"{reading} {m} x {n}, K = {k}{limited}"


def products_of(steps):
    """The algorithms of all runs of HPL-MxP and HPL that passed, as the runs report them, each
    with "run", the name of its run, "first", whether it is the first of its class that was not
    refused, and "over", whether it passes its limit."""
    rows = []
    for step in steps:
        if step["step"] not in ("mxp", "hpl") or step["verdict"] != "passed":
            continue
        of, had_first = None, False
        # Those of a class follow each other, the preferred ones first.
        for one in step["result"].get("products") or []:
            of, last = class_of(one), of
            had_first = had_first and of == last
            first = not had_first and not is_refused(one)
            had_first = had_first or first
            row = {"run": step["name"], **one, "first": first, "over": passes_its_limit(one)}
            rows.append(row)
    return rows


def products_text(rows):
    """A line for each algorithm."""
    lines, run = [ABOVE], None
    for one in rows:
        if one["run"] != run:
            run = one["run"]
            end = "  algorithm, kernel, refused\n"
            lines += [f"\n{run}\n", line_of(WIDTHS, HEADS, end)]
        marks = ["first" if one["first"] else "", "over" if one["over"] else ""]
        cells = [text_of(one, field) for field in FIELDS] + marks
        refused = f" refused {one['refused']}" if is_refused(one) else ""
        words = f"{text_of(one, 'algorithm')} {text_of(one, 'kernel')}{refused}"
        lines.append(line_of(WIDTHS, [*cells, cell(one.get("milliseconds"), 4)], f"  {words}\n"))
    return "".join(lines)


def limits_text(rows):
    """Which limited classes launch more blocks than their limit, or what is not known of them, and
    which algorithms were refused; the same ones of several runs once. Empty without products."""
    classes, over, unknown, refused = set(), set(), set(), set()
    for one in rows:
        of = class_of(one)
        if is_refused(one):
            algorithm = text_of(one, "algorithm")
            refused.add(f"refused {one['refused']}: {of}, algorithm {algorithm}\n")
        if not is_limited(one) or not one["first"]:
            continue
        classes.add(of)
        if one["over"] is None:
            unknown.add(f"{of}: its blocks are not known\n")
        elif one["over"]:
            over.add(f"{of}: {text_of(one, 'blocks')} blocks, {text_of(one, 'kernel')}\n")
    if not rows:
        return ""
    counts = f"{len(classes)} classes, {len(over)} launch more blocks than their limit"
    lines = sorted(over) + sorted(unknown) + sorted(refused)
    return f"limited products: {counts}\n" + "".join(lines)


def side_by_side_text(steps):
    """The times of a diagonal block and an update alone and side by side, from the ceilings."""
    lines, widths = measured(steps, "diagonal_beside_update"), (8, 11, 11, 11, 11, 11)
    if not lines:
        return ""
    heads = ("share", "block", "beside", "update", "beside", "both")
    text = "diagonal block beside an update, ms\n" + line_of(widths, heads)
    what = ("block_alone", "block_beside", "update_alone", "update_beside", "both")
    for line in lines:
        times = [cell(line.get(f"{one}_milliseconds", 0), 3) for one in what]
        text += line_of(widths, (text_of(line, "reserved"), *times))
    return text
