"""Prints a results file as the Markdown tables of docs/benchmarks.md: `scripts/bench table NAME`. Without a NAME it prints the
table of README.md, which takes some figures of several files."""
import argparse
import json
import statistics
from pathlib import Path


# What README.md shows: the results file, the row's name there, what README.md calls the row, and for each peer how it is told.
OVERVIEW = (
    ("agent", "file", "from the purchase of one file of 2 GiB to verified, placed and durable",
     {"curl + sha256sum + sync": "the time of `curl`, `sha256sum` and `sync`"}),
    ("agent", "file-peak", "peak memory of the agent with a package of 2 GiB", {None: ""}),
    ("main-job", "server, CPU a 64 KiB range", "processor time for a range of 64 KiB with a ticket, 8 connections",
     {"nginx secure_link": "nginx with `secure_link`"}),
    ("delivery", "64k", "processor time for a range of 64 KiB with a ticket, 64 connections",
     {"lighttpd": "lighttpd, which checks nothing"}),
    ("delivery", "1m", "processor time for a range of 1 MiB with a ticket, 8 connections",
     {"nginx": "nginx and", "lighttpd": "lighttpd, which check nothing"}),
    ("delivery", "whole-8", "processor time for a whole file, 8 clients", {"nginx": "nginx, which checks nothing"}),
    ("delivery", "upload", "a durable upload of 2 GiB",
     {"nginx DAV + sync": "the time of nginx's DAV module and `sync`, which hash nothing"}),
)


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def measured(target, unit):
    """A figure of a row, without the peer that it is a multiple of."""
    return f"{target['measured']:.2f} ×" if target["peer"] else f"{number(target['measured'])} {unit}".rstrip()


def ratio_lines(rows):
    yield "| work | measured | target | |"
    yield "|---|---:|---:|---|"
    for row in rows:
        work = row["work"]
        for target in row["targets"]:
            sign = "≤" if target["sense"] == "at most" else "≥"
            verdict = "held" if target["held"] else "**missed**"
            if target.get("extra"):
                factor = f"{target['measured']:+.2f} {row['unit']} beside {target['peer']}"
            else:
                factor = f"{measured(target, row['unit'])} {target['peer'] or ''}".rstrip()
            yield f"| {work} | {factor} | {sign} {target['target']:g} | {verdict} |"
            work = ""


def figure_lines(figures):
    """The table of the main job, whose file has another form."""
    yield "| figure | measured | target | |"
    yield "|---|---:|---:|---|"
    for figure in figures:
        verdict = "held" if figure["held"] else "**missed**"
        factor = (f"{figure['value']:.2f} × {figure['measure'].removeprefix('x ')}" if figure["measure"].startswith("x ")
                  else f"{figure['value']:.0f} {figure['measure']}")
        yield f"| {figure['name']} | {factor} | ≤ {figure['target']} | {verdict} |"


def overview_lines(root):
    """The table of README.md."""
    yield "| work | Pullbox, compared |"
    yield "|---|---|"
    for name, row_name, work, peers in OVERVIEW:
        factors = by_peer(results(root, name), row_name)
        yield f"| {work} | {' '.join(f'{factors[peer]} {told}'.rstrip() for peer, told in peers.items())} |"


def by_peer(found, name):
    """The figures of a row, each under the peer that it is a multiple of."""
    if "figures" in found:
        (figure,) = [figure for figure in found["figures"] if figure["name"] == name]
        return {figure["measure"].removeprefix("x "): f"{figure['value']:.2f} ×"}
    (row,) = [row for row in found["rows"] if row["name"] == name]
    return {target["peer"]: measured(target, row["unit"]) for target in row["targets"]}


def results(root, name):
    return json.loads((root / f"Benchmarks/results/{name}.json").read_text())


def sample_lines(rows):
    yield "| work | unit | medians (lowest to highest of the samples) |"
    yield "|---|---|---|"
    for row in rows:
        medians = [f"{peer} {number(statistics.median(values))} ({number(min(values))}–{number(max(values))})"
                   for peer, values in row["samples"].items()]
        yield f"| {row['work']} | {row['unit']} | {', '.join(medians)} |"


def tables(root, name):
    """The tables of a results file, and the one of README.md for no name."""
    if name is None:
        return ["\n".join(overview_lines(root))]
    found = results(root, name)
    if "figures" in found:
        return ["\n".join(figure_lines(found["figures"]))]
    return ["\n".join(ratio_lines(found["rows"])), "\n".join(sample_lines(found["rows"]))]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench table")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    print("\n\n".join(tables(arguments.root, arguments.name)))


if __name__ == "__main__":
    main()
