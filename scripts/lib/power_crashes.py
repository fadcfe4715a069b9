"""Everything that a device may hold when its power fails at one moment: which of the changes that no sync has covered are on it."""

import itertools
import random

from power_disk import PAGE, SECTOR, written

# Where there are no more states than this at a moment, all of them are made; else each change alone and left out, and so many more that a seed
# draws; and in any case torn ones.
ALL_OF_THEM = 96


class File:
    """What may be of one file: for each page the last write that counts, and the length."""

    def __init__(self, node):
        self.node, self.writes = node, node.pending
        self.pages = {}
        for place, write in enumerate(self.writes):
            for page in write.pages():
                self.pages.setdefault(page, []).append(place)
        self.lengths = list(dict.fromkeys([len(node.base), *(write.length for write in self.writes)]))

    def count(self):
        count = len(self.lengths)
        for places in self.pages.values():
            count *= len(places) + 1
            if count > ALL_OF_THEM:
                break
        return count

    def content(self, last, length, tear=None):
        """`last` of a page, -1 for as it was; of the page that is torn, the sectors before the cut have what is newest of it."""
        data = written(self.node.base, self.writes, last)
        if tear:
            page, sector, newer = tear
            newest = written(self.node.base, self.writes, lambda one: newer if one == page else -1)
            begin, cut = page * PAGE, page * PAGE + sector * SECTOR
            data[begin:cut] = newest[begin:cut]
        return bytes(data[:length]) + bytes(max(0, length - len(data)))

    def after(self, place):
        return self.writes[place].length if place >= 0 else len(self.node.base)

    def whole(self):
        return self.content(lambda page: len(self.writes), self.after(len(self.writes) - 1))

    def nothing(self):
        return self.node.base

    def every(self):
        """All of it, where that is little."""
        pages = sorted(self.pages)
        for chosen in itertools.product(*([-1, *self.pages[page]] for page in pages)):
            last = dict(zip(pages, chosen))
            for length in self.lengths:
                yield lambda last=last, length=length: self.content(lambda page: last.get(page, -1), length)

    def some(self):
        """Each write alone, and each left out, with what came over it later; each with all before it and none after it; short ones."""
        count = len(self.writes)
        for place, write in enumerate(self.writes):
            mine = write.pages()
            yield lambda place=place, mine=mine: self.content(lambda page: place if page in mine else -1, self.after(place))
            yield lambda place=place, mine=mine: self.content(lambda page: place - 1 if page in mine else count, self.after(count - 1))
            yield lambda place=place: self.content(lambda page: place, self.after(place))
        for length in self.lengths:
            yield lambda length=length: self.content(lambda page: count, length)

    def torn(self):
        """The first and the last page of each write, of which some sectors are there; with all before it, or with nothing."""
        for place, write in enumerate(self.writes):
            mine = write.pages()
            for page in {*mine[:1], *mine[-1:]}:
                for sector in (1, 4, 7):
                    for others in (place, -1):
                        yield lambda page=page, place=place, others=others, sector=sector: self.content(
                            lambda one: place - 1 if one == page else others, self.after(place), (page, sector, place))

    def drawn(self, chance):
        last = {page: chance.choice([-1, *places]) for page, places in self.pages.items()}
        tear = None
        if self.pages and chance.random() < 0.3:
            page = chance.choice(sorted(self.pages))
            tear = (page, chance.randrange(1, PAGE // SECTOR), chance.choice(self.pages[page]))
        return self.content(lambda page: last.get(page, -1), chance.choice(self.lengths), tear)


def names_after(device, counts):
    """The names of each directory with so many of its pending changes; a rename is in both of its directories or in neither."""
    changed = [node for node in device.nodes if node.is_directory and node.pending]
    counts = {id(node): counts.get(id(node), len(node.pending)) for node in changed}
    is_settled = False
    while not is_settled:
        is_settled = True
        for node in changed:
            for naming in node.pending[:counts[id(node)]]:
                for partner in naming.partners():
                    if naming in partner.pending and partner.pending.index(naming) >= counts[id(partner)]:
                        counts[id(partner)] = partner.pending.index(naming) + 1
                        is_settled = False
    names = {}
    for node in changed:
        here = dict(node.base)
        for naming in node.pending[:counts[id(node)]]:
            naming.apply(node, here)
        names[id(node)] = here
    return names


def crashes(device, chance, draws):
    """States of the device at this moment, each made when it is called: first what SIGKILL leaves, then what a sync has covered alone, and
    mixtures of both; the others in an order by chance, and whether these are all that there can be."""
    files = [File(node) for node in device.nodes if not node.is_directory and node.pending]
    directories = [node for node in device.nodes if node.is_directory and node.pending]
    whole = {id(file.node): file.whole() for file in files}
    nothing = {id(file.node): file.nothing() for file in files}
    all_names, no_names = names_after(device, {}), names_after(device, {id(node): 0 for node in directories})

    def state(names, contents):
        return lambda: device.state(names() if callable(names) else names, {key: one() if callable(one) else one for key, one in contents.items()})
    first = [state(names, contents) for names, contents in itertools.product((all_names, no_names), (whole, nothing))]
    count = 1
    for factor in [*(file.count() for file in files), *(len(node.pending) + 1 for node in directories)]:
        count *= factor
    others = [state(all_names, contents | {id(file.node): content})
              for file in files for content in file.torn() for contents in (whole, nothing)]
    if count <= ALL_OF_THEM:
        choices = [[(id(file.node), content) for content in file.every()] for file in files]
        for prefixes in itertools.product(*(range(len(node.pending) + 1) for node in directories)):
            names = names_after(device, {id(node): prefix for node, prefix in zip(directories, prefixes)})
            others += [state(names, dict(contents)) for contents in itertools.product(*choices)]
        return first, others, True
    for node in directories:
        for prefix in range(len(node.pending) + 1):
            for rest in ({}, {id(one): 0 for one in directories}):
                counts = rest | {id(node): prefix}
                others += [state(lambda counts=counts: names_after(device, counts), contents) for contents in (whole, nothing)]
    for file in files:
        for content in file.some():
            others += [state(all_names, contents | {id(file.node): content}) for contents in (whole, nothing)]
    for _ in range(draws):
        counts, seed = {id(node): chance.randint(0, len(node.pending)) for node in directories}, chance.getrandbits(64)
        others.append(state(lambda counts=counts: names_after(device, counts), {
            id(file.node): lambda file=file, seed=seed: file.drawn(random.Random(f"{seed} {file.node.number}")) for file in files}))
    chance.shuffle(others)
    return first, others, False


def chance_of(seed, place):
    return random.Random(f"{seed} {place}")
