"""What it costs to verify what customers and stores send, beside libcrypto's own speed, and how a store and a server stand a
moment at which ten thousand subscriptions renew. Run through scripts/bench receipts."""
import argparse
from pathlib import Path

from measuring import run
from reporting import Results, Target, row, show
from sandbox import Store, read_gap


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench receipts")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="times each work is measured")
    parser.add_argument("--subscriptions", type=int, default=10_000, metavar="N",
                        help="subscriptions that renew at one moment, and notifications after a gap")
    parser.add_argument("--store-rounds", type=int, default=3, metavar="N", help="times these two are measured")
    parser.add_argument("--port-base", type=int, default=18400, metavar="PORT", help="first of the ports used")
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


def libcrypto():
    """Microseconds that one verification takes, by curve."""
    speeds = {}
    for line in run("openssl", "speed", "-seconds", "1", "ecdsap256", "ecdsap384").splitlines():
        for curve in ("nistp256", "nistp384"):
            if f"({curve})" in line:
                speeds[curve] = 1e6 / float(line.split()[-1])
    return speeds


def verifications(results, arguments, measured):
    """Each of ours beside a look at libcrypto right before."""
    peers = [libcrypto() for _ in range(arguments.rounds)]
    for name, work, curves in (
            ("signed-data-nothing-cached", "signed data verified, nothing cached", ("nistp256", "nistp384", "nistp384")),
            ("signed-data-chain-cached", "signed data verified, its chain cached", ("nistp256",))):
        allowed = [1e6 / sum(speeds[curve] for curve in curves) for speeds in peers]
        ours = [1e6 / one for one in measured[name]]
        results.add(row(name, work, "a second and core", {"pullbox": ours, "libcrypto": allowed},
                        [Target("libcrypto", 0.77, "at least")]))


def many(results, arguments):
    """A moment at which all subscriptions renew, and the reading of what was told of it."""
    name = f"{arguments.subscriptions:,}"
    store = Store(arguments, arguments.subscriptions)
    taken, slowest, rates, memory = [], [], [], []

    def renew():
        seconds, waits = store.renew()
        taken.append(seconds)
        slowest.append(waits[len(waits) * 99 // 100] * 1000 if waits else 0)

    def read(rounds):
        # A new server each time, which has read nothing.
        seconds, count, peak = read_gap(arguments, store)
        if count < rounds * arguments.subscriptions:
            raise RuntimeError(f"{count} notifications of {rounds * arguments.subscriptions} renewals")
        return count / seconds, peak / 2**20

    renew()
    for _ in range(arguments.store_rounds):
        rate, peak = read(1)
        rates.append(rate)
        memory.append(peak)
    for _ in range(1, arguments.store_rounds):
        renew()
    long_rate, long_memory = read(arguments.store_rounds)
    results.add(row("renewals", f"{name} subscriptions that renew at one moment, all made", "s",
                    {"pullbox": taken}, [Target(None, 5)]))
    results.add(row("renewals-others", "another customer meanwhile, the 99th of a hundred answers", "ms",
                    {"pullbox": slowest}, [Target(None, 50)]))
    results.add(row("notifications-gap", f"{name} notifications after a gap, read from the store's history", "a second",
                    {"pullbox": rates}, [Target(None, 1000, "at least")]))
    results.add(row("notifications-gap-memory", "the server's memory meanwhile", "MiB",
                    {"pullbox": memory}, [Target(None, 64)]))
    longer = f"{arguments.store_rounds * arguments.subscriptions:,} notifications"
    results.add(row("notifications-gap-long", f"{longer} after a gap", "a second", {"pullbox": [long_rate]}, []))
    results.add(row("notifications-gap-long-memory", f"the server's memory with {longer}", "MiB",
                    {"pullbox": [long_memory]}, []))


def main():
    arguments = parse_arguments()
    results = Results(arguments.root / "Benchmarks/results/receipts.json", "receipts",
                      {"rounds": arguments.rounds, "subscriptions": arguments.subscriptions})
    measured = samples(arguments)
    verifications(results, arguments, measured)
    for purchases, bound in ((200, 2), (2000, 12)):
        milliseconds = [one / 1000 for one in measured[f"app-receipt-{purchases}"]]
        results.add(row(f"app-receipt-{purchases}", f"app receipt with {purchases:,} purchases, read and verified",
                        "ms of processor", {"pullbox": milliseconds}, [Target(None, bound)]))
    many(results, arguments)
    for one in results.rows:
        show(one)


if __name__ == "__main__":
    main()
