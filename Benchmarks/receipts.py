"""What it costs to verify what customers and stores send, beside libcrypto's own speed. Run through scripts/bench receipts."""
import argparse
from pathlib import Path

from measuring import run
from reporting import Results, Target, row, show


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench receipts")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="times each work is measured")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def samples(arguments):
    """Microseconds by work."""
    found = {}
    for line in run(arguments.bin / "ReceiptsBenchmark", arguments.rounds).splitlines():
        name, microseconds = line.split()
        found.setdefault(name, []).append(float(microseconds))
    return found


def main():
    arguments = parse_arguments()
    results = Results(arguments.root / "Benchmarks/results/receipts.json", "receipts", {"rounds": arguments.rounds})
    measured = samples(arguments)
    for purchases, bound in ((200, 2), (2000, 12)):
        milliseconds = [one / 1000 for one in measured[f"app-receipt-{purchases}"]]
        results.add(row(f"app-receipt-{purchases}", f"app receipt with {purchases:,} purchases, read and verified",
                        "ms of processor", {"pullbox": milliseconds}, [Target(None, bound)]))
    for one in results.rows:
        show(one)


if __name__ == "__main__":
    main()
