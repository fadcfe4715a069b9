"""Prints a results file as the Markdown tables of docs/benchmarks.md: `scripts/bench table NAME`."""
import argparse
import json
import statistics
from pathlib import Path


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


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
            elif target["peer"]:
                factor = f"{target['measured']:.2f} × {target['peer']}"
            else:
                factor = f"{number(target['measured'])} {row['unit']}"
            yield f"| {work} | {factor} | {sign} {target['target']:g} | {verdict} |"
            work = ""


def sample_lines(rows):
    yield "| work | unit | medians (lowest to highest of the samples) |"
    yield "|---|---|---|"
    for row in rows:
        medians = [f"{peer} {number(statistics.median(values))} ({number(min(values))}–{number(max(values))})"
                   for peer, values in row["samples"].items()]
        yield f"| {row['work']} | {row['unit']} | {', '.join(medians)} |"


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench table")
    parser.add_argument("name")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    path = arguments.root / f"Benchmarks/results/{arguments.name}.json"
    rows = json.loads(path.read_text())["rows"]
    print("\n".join(ratio_lines(rows)), end="\n\n")
    print("\n".join(sample_lines(rows)))


if __name__ == "__main__":
    main()
