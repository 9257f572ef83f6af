# SPDX-License-Identifier: BSD-3-Clause
"""The algorithms of matrix products that the runs report, and the limits that they pass."""

import json

from reports import is_number


def line_of(widths, cells):
    """The cells of a line of a table."""
    return " ".join(f"{cell:>{width}}" for width, cell in zip(widths, cells))


def is_refused(one):
    return isinstance(one.get("refused"), str)


def passes_its_limit(one):
    """Whether it launches more thread blocks than its limit of multiprocessors; None where it has
    no limit or its blocks are not known."""
    blocks, limit = one.get("blocks"), one.get("multiprocessors")
    if not is_number(limit):
        return None
    if one.get("confined"):
        return False  # whatever it launches, it keeps to the limit
    return blocks > limit if is_number(blocks) else None


def text_of(one, field):
    value = one.get(field)
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)


def class_of(one):
    """Such as "fp16 180000 x 8192, K = 2048"."""
    reading, m, n, k, limit = (
        text_of(one, field) for field in ("reading", "m", "n", "k", "multiprocessors")
    )
    words = f"{reading} {m} x {n}, K = {k}"
    return words + (f", {limit} multiprocessors" if is_number(one.get("multiprocessors")) else "")


def products_of(steps):
    """The algorithms of all runs of HPL-MxP and HPL that passed, as the runs report them, each
    with "run", the name of its run, "first", whether it is the first of its class that was not
    refused, and "over", whether it passes its limit."""
    rows = []
    for step in steps:
        if step["step"] not in ("mxp", "hpl") or step["verdict"] != "passed":
            continue
        last, had_first = "", False
        # Those of a class follow each other, the preferred ones first.
        for one in step["result"].get("products") or []:
            of = class_of(one)
            first = not is_refused(one) and not (had_first and of == last)
            had_first = first or (had_first and of == last)
            last = of
            over = passes_its_limit(one)
            rows.append({"run": step["name"], **one, "first": first, "over": over})
    return rows


def products_text(rows):
    """A line for each algorithm."""
    text = (
        "first: the algorithm that its class of products takes; over: more thread blocks than the "
        "limit of multiprocessors\n"
    )
    widths = (6, 7, 7, 6, 6, 7, 6, 6, 10)
    heads = ("read", "m", "n", "k", "limit", "blocks", "first", "over", "ms")
    fields = ("reading", "m", "n", "k", "multiprocessors", "blocks")
    run = None
    lines = [text]
    for one in rows:
        if one["run"] != run:
            run = one["run"]
            lines.append(f"\n{run}\n{line_of(widths, heads)}  algorithm, kernel, refused\n")
        ms = one.get("milliseconds")
        cells = [text_of(one, field) for field in fields]
        cells += ["first" if one["first"] else "", "over" if one["over"] else ""]
        cells.append(f"{ms:.4f}" if is_number(ms) else "-")
        refused = f" refused {one['refused']}" if is_refused(one) else ""
        words = f"{text_of(one, 'algorithm')} {text_of(one, 'kernel')}{refused}"
        lines.append(f"{line_of(widths, cells)}  {words}\n")
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
        if not is_number(one.get("multiprocessors")) or not one["first"]:
            continue
        classes.add(of)
        if one["over"] is None:
            unknown.add(f"{of}: its blocks are not known\n")
        elif one["over"]:
            over.add(f"{of}: {text_of(one, 'blocks')} blocks, {text_of(one, 'kernel')}\n")
    if not rows:
        return ""
    return (
        f"limited products: {len(classes)} classes, {len(over)} launch more blocks than their "
        "limit\n" + "".join(sorted(over) + sorted(unknown) + sorted(refused))
    )


def side_by_side_text(steps):
    """The times of a diagonal block and an update alone and side by side, from the ceilings."""
    widths = (8, 11, 11, 11, 11, 11)
    heads = ("share", "block", "beside", "update", "beside", "both")
    parts = ("block_alone", "block_beside", "update_alone", "update_beside", "both")
    lines = [
        line
        for step in steps
        if step["step"] == "ceilings"
        for line in step.get("result") or []
        if line.get("part") == "diagonal_beside_update"
    ]
    if not lines:
        return ""
    text = f"diagonal block beside an update, ms\n{line_of(widths, heads)}\n"
    for line in lines:
        times = [f"{line.get(part + '_milliseconds', 0):.3f}" for part in parts]
        text += line_of(widths, (text_of(line, "reserved"), *times)) + "\n"
    return text
