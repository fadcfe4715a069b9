"""How long a server stands still while its records move to PostgreSQL, and back. Run through scripts/bench move."""
import argparse
import json
import shutil
import statistics
import time
from pathlib import Path

from measuring import run, say
from postgresql import Primary
from reporting import Results, Target, row, show
from services import Services

GRANTS = 1_000_000
# Seconds for each million.
BOUND = 300


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench move")
    parser.add_argument("--grants", type=int, default=GRANTS, metavar="N", help="grants of the state that moves")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="times it moves there and back")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the samples here")
    parser.add_argument("--port-base", type=int, default=29480, metavar="PORT", help="first of the ports used")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def state_with(arguments):
    """A state directory with so many grants and what they leave behind. One that was made is used again."""
    made = arguments.work / f"state-{arguments.grants}"
    if not made.exists():
        services = Services(arguments)
        services.stop()
        say(f"Making {arguments.grants:,} grants")
        run("python3", "-B", arguments.root / "Benchmarks/state.py", services.state / "server.db", "--grants", arguments.grants)
        services.state.rename(made)
    state = arguments.work / "state"
    shutil.rmtree(state, ignore_errors=True)
    run("cp", "-a", "--reflink=auto", made, state)
    run("sync", "--file-system", state)
    return state


def move(arguments, source, target):
    """Seconds, and the content of every table as it was copied."""
    begun = time.monotonic()
    answer = json.loads(run(arguments.bin / "pullbox-server", "move", "--from", source, "--to", target, "--json"))
    return time.monotonic() - begun, answer["tables"]


def main():
    arguments = parse_arguments()
    results = Results(arguments.results or arguments.root / "Benchmarks/results/move.json", "move",
                      {"grants": arguments.grants, "runs": arguments.runs})
    there, back = [], []
    state = state_with(arguments)
    with Primary() as primary:
        configuration = arguments.work / "move.json5"
        configuration.touch(mode=0o600)
        configuration.write_text(json.dumps({"state": str(state), "database": primary.url()}))
        first = None
        for _ in range(arguments.runs):
            for samples, source, target in ((there, state, configuration), (back, configuration, state)):
                seconds, tables = move(arguments, source, target)
                first = first or tables
                if tables != first:
                    raise RuntimeError(f"what was moved from {source} is not what was moved first")
                samples.append(seconds)
                say(f"{seconds:.1f} s from {source} to {target}")
    rows = sum(table["rows"] for table in first)
    size = (state / "server.db").stat().st_size
    bound = BOUND * arguments.grants / GRANTS
    for name, samples, way in (("there", there, "to PostgreSQL"), ("back", back, "back to a file")):
        results.add(row(name, f"a move of {arguments.grants:,} grants {way}, {rows:,} rows compared", "s", {"pullbox": samples},
                        [Target(None, bound)], file=size, rate=round(rows / statistics.median(samples))))
    for one in results.rows:
        show(one)


if __name__ == "__main__":
    main()
