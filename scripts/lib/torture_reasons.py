"""Because of what a product is owned or not, as operators are told; and what a device's feed tells of it."""

import json
import time
import urllib.parse

from node_clients import ask

# So many products of a device are asked about at each calm end, in turn.
ASKED = 12
# So long a device may take to hear what is owned by now. The license that says so as well may come with the next answer of its feed, a minute later.
HEARD_SECONDS = 30
# What a feed says of a product that is owned and offered.
THERE = {"issue-available", "correction-available", "reinstated"}


def see_reasons(checks, agent, verdicts):
    """5: the operator hears of each rule that speaks for a product, and of one against it, as the model has them."""
    names = sorted(verdicts)
    first = checks.counts["reasons"] % max(1, len(names))
    for product in (names[first:] + names[:first])[:ASKED]:
        verdict = verdicts[product]
        if verdict.uncertain:
            continue
        query = urllib.parse.urlencode({"product": product, "device": agent.device, "store": "apple"})
        answer = ask(checks.system.node_port(), "GET", f"/v1/operator/explain?{query}", None, checks.system.key)
        checks.look("reasons")
        if answer.status == 404 and verdict.against == {"not-bought"}:
            # It has shown no purchase yet.
            continue
        if answer.status != 200:
            checks.violate(f"5: why {agent.name} may have {product} is answered {answer.status} {answer.body[:200]}")
            continue
        document = json.loads(answer.body)
        because, against = ({finding["rule"] for finding in document[member]} for member in ("because", "against"))
        if document["allowed"] != verdict.is_owned or because - {"granted-before"} != verdict.because:
            checks.violate(f"5: {product} is explained to be {'allowed' if document['allowed'] else 'refused'} for {agent.name} because of "
                           f"{sorted(because)}, and the model says {sorted(verdict.because)}")
        elif not verdict.is_owned and not verdict.against & against or "not-bought" in against - verdict.against:
            checks.violate(f"5: {product} is explained to be refused for {agent.name} because of {sorted(against)}, and the model says "
                           f"{sorted(verdict.against)}")


def see_feed(checks, agent, feed, verdicts):
    """5: the last that the feed tells of a product is that it is there, in the version that is offered, or that it is not."""
    path = urllib.parse.urlsplit(feed["url"]).path
    answer = ask(checks.system.node_port(), "GET", f"{path}?device={agent.device}", None, feed["token"])
    if answer.status != 200:
        checks.violate(f"5: the feed of {agent.name} is answered {answer.status} {answer.body[:200]}")
        return
    document = json.loads(answer.body)
    entries = {entry["product"]: entry for entry in document["entries"]}
    for product, verdict in verdicts.items():
        if verdict.uncertain:
            continue
        entry, version = entries.get(product), checks.model.offered(product, agent.device)
        kind = entry and entry["kind"]
        if verdict.is_owned and version and (kind not in THERE or entry["version"] != version):
            checks.violate(f"5: {agent.name} owns {product} {version}, and its feed says {entry}")
        if verdict.is_owned and not version and kind in THERE or not verdict.is_owned and kind in THERE:
            checks.violate(f"5: {agent.name} {'owns' if verdict.is_owned else 'does not own'} {product}, offered {version}, and its feed says {entry}")
        checks.look("news of products")


def see_license(checks, agent, judge):
    """5: what a device answers without a network, by its license or by what its feed told since, is what the model says. `judge` answers the model's
    verdicts as they are then."""
    names = sorted(judge())
    checks.turns += ASKED
    first = checks.turns % max(1, len(names))
    for product in (names[first:] + names[:first])[:ASKED]:
        end = time.monotonic() + HEARD_SECONDS
        while True:
            verdict, answer = judge().get(product), agent.call("GET", f"/v1/library/{product}/ownership")
            if verdict is None or verdict.uncertain:
                break
            if answer[0] == 200 and answer[1]["owned"] == verdict.is_owned:
                checks.look("answers by license" if answer[1]["verification"] == "verified" else "answers by the feed before its license")
                break
            if time.monotonic() > end:
                checks.violate(f"5: {agent.name} answers of {product} without a network {answer}, and the model says {sorted(verdict.because)}")
                return
            time.sleep(0.2)
