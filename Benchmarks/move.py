"""How long a server stands still while its records move to PostgreSQL, and back. Run through scripts/bench move."""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measuring import run, say
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


@contextlib.contextmanager
def postgresql():
    """A server of Debian's with its own settings, on a socket alone; its URL."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not binaries or int(binaries[-1].parts[4]) < 15:
        raise RuntimeError("Debian's postgresql-15 is not installed")
    # The server does not run as root, and the path of its socket has to be short.
    directory = Path(tempfile.mkdtemp(prefix="pullbox-pg-", dir="/var/tmp"))
    account = []
    if os.getuid() == 0:
        shutil.chown(directory, "postgres")
        account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]

    def call(program, *words):
        run(*account, binaries[-1].with_name(program), "-D", directory / "data", *words, cwd=directory, stdin=subprocess.DEVNULL)

    try:
        call("initdb", "-U", "pullbox", "-E", "UTF8", "--locale=C.UTF-8", "--auth=trust")
        call("pg_ctl", "-w", "-l", directory / "data/log", "-o", f"-c listen_addresses= -c unix_socket_directories={directory}", "start")
        try:
            yield f"postgresql:///postgres?host={directory}&user=pullbox"
        finally:
            call("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(directory)


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
    with postgresql() as url:
        configuration = arguments.work / "move.json5"
        configuration.touch(mode=0o600)
        configuration.write_text(json.dumps({"state": str(state), "database": url}))
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
