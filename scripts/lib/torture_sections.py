"""Sections: what a device says to have of one, what lies there, and what its reader wants."""

from node_engines import until
from torture_content import SECTION, SECTION_FOLDER, has_section

# So long an agent may take to answer, behind a start.
ANSWER_SECONDS = 30


def see_sections(checks):
    """4: a device says of a section that it is there where its files are, and nowhere else; what its reader wanted last is so."""
    for (name, product), wanted in list(checks.people.sections.items()):
        agent = checks.system.agents[name]
        if (name, product) in checks.adversary.rots.ever or not (agent.library / product).is_dir():
            continue
        status, document = until(ANSWER_SECONDS, f"4: {name} tells the sections of {product}", lambda agent=agent, product=product: answer_of(
            agent, product))
        if status != 200:
            # It is not owned any more, or not here.
            continue
        known = checks.history.versions.get((product, document["version"]))
        if known is None or not has_section(known["files"]):
            continue
        there = (agent.library / product / document["version"] / SECTION_FOLDER).is_dir()
        told = next((one["here"] for one in document["sections"] if one["tag"] == SECTION), None)
        if told != there:
            checks.violate(f"4: {name} says of the section of {product} {document['version']} that it is {'' if told else 'not '}here, and it is "
                           f"{'' if there else 'not '}on its disk")
        if wanted is not None and wanted != there and not has_failed(agent, product):
            checks.violate(f"4: the reader of {name} was told that {product} {document['version']} comes {'with' if wanted else 'without'} its section, "
                           f"and that is {'' if there else 'not '}there")
        checks.look("sections")


def answer_of(agent, product):
    answer = agent.call("GET", f"/v1/library/{product}/sections")
    return None if answer[0] in (429, 500, 502, 503, 504) else answer


def has_failed(agent, product):
    """Whether it is told that the section could not come."""
    return bool(agent.rows("SELECT 1 FROM downloads WHERE product = ? AND section = ? AND state IN ('failed', 'cancelled')", product, SECTION))
