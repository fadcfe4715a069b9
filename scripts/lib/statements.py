"""The statements of the delivery server, as its Swift files have them (check-sql, check-postgresql-sql)."""

import os
import re

FOLDERS = tuple(
    f"Sources/{name}" for name in (
        "DeliveryRecords", "RouteAccess", "ContentCatalog", "ContentPublishing", "ContentGrants", "OperatorConsole", "DeliveryService"))
# What the two databases do not share.
DIALECT = re.compile(r"/(?:SQLDialect|Migrations)(?:\+\w+)?\.swift$|/PostgreSQL/\w+(?:\+\w+)?\.swift$")


def sources(root):
    """The Swift files that hold statements which the databases share, in order."""
    for folder in FOLDERS:
        for directory, names, entries in os.walk(os.path.join(root, folder)):
            names.sort()
            for entry in sorted(entries):
                path = os.path.join(directory, entry)
                if entry.endswith(".swift") and not DIALECT.search(path):
                    yield path


class Literal:
    """A string of Swift: texts, and the expressions that are interpolated between them."""

    def __init__(self, position, texts, expressions):
        self.position, self.texts, self.expressions = position, texts, expressions


def literals(source):
    """The strings of a Swift file, without those in comments and in interpolated expressions."""
    place = 0
    while place < len(source):
        if source.startswith("//", place):
            place = (source.find("\n", place) + 1) or len(source)
        elif source.startswith("/*", place):
            place = (source.find("*/", place) + 2) or len(source)
        elif source[place] in '"#':
            mark = re.compile(r'(#*)("""|")').match(source, place)
            if not mark:
                place += 1
                continue
            literal, place = _literal(source, place, mark)
            yield literal
        else:
            place += 1


def _literal(source, start, mark):
    hashes, quotes = mark.groups()
    place, end, escape = mark.end(), quotes + hashes, "\\" + hashes
    texts, expressions = [""], []
    while not source.startswith(end, place):
        if source.startswith(escape + "(", place):
            place += len(escape)
            begin, place = place + 1, _closed(source, place)
            expressions.append(" ".join(source[begin:place - 1].split()))
            texts.append("")
        elif source.startswith(escape, place):
            place += len(escape)
            texts[-1] += {"n": "\n", "t": "\t", "\n": ""}.get(source[place], source[place])
            place += 1
        else:
            texts[-1] += source[place]
            place += 1
    return Literal(start, texts, expressions), place + len(end)


def _closed(source, place):
    """The place behind the parenthesis that closes the one at `place`."""
    depth = 0
    while True:
        if source[place] == '"':
            _, place = _literal(source, place, re.compile(r'(#*)("""|")').match(source, place))
            continue
        depth += {"(": 1, ")": -1}.get(source[place], 0)
        place += 1
        if depth == 0:
            return place


class Unknown(Exception):
    """An expression in a statement of which it is not known what it stands for."""


class Statements:
    """The statements, with what is interpolated put in: by constants of the same type, or by `bindings`.

    The bindings of a file, by its name, are lists of dictionaries from an expression to a text, in which expressions are put in as well.
    A statement that needs some is made with each dictionary that has all of them.
    """

    BEGINNING = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\s")
    PART = re.compile(r"\b(?:SELECT|EXISTS|WHERE|CASE WHEN|IS NULL|IS NOT NULL|AND|OR)\b|[=<>] \?")
    CONSTANT = re.compile(r"\blet\s+(\w+)(?:\s*:\s*String)?\s*=\s*$")

    def __init__(self, root, bindings, paths=None):
        self.root, self.bindings = root, bindings
        self.constants, self.literals = {}, []
        for path in paths or sources(root):
            name = os.path.basename(path)[:-len(".swift")]
            with open(path, encoding="utf-8") as file:
                source = file.read()
            for literal in literals(source):
                line = source.count("\n", 0, literal.position) + 1
                self.literals.append((path, line, name, literal))
                if found := self.CONSTANT.search(source[max(0, literal.position - 200):literal.position]):
                    self.constants[name, found.group(1)] = literal
            # A name that stands for something else as well has to be bound.
            for found in re.finditer(r"\blet\s+(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?![\s\"#])", source):
                self.constants[name, found.group(1)] = None
        self.used = set()
        self.made = []

    def all(self):
        """Path, line, and the text for SQLite and for PostgreSQL of each; Unknown in place of the texts where one cannot be made."""
        for path, line, name, literal in self.literals:
            if self.BEGINNING.match(literal.texts[0]):
                for texts in self._variants(name, literal):
                    if not isinstance(texts, Unknown):
                        self.made.append(" ".join(texts[0].split()))
                    yield os.path.relpath(path, self.root), line, texts

    def unused(self):
        """The bindings that no statement needs."""
        return [
            f"{name}: {expression}" for name, choices in self.bindings.items() for binding in choices
            for expression in binding if (name, expression) not in self.used]

    def unseen(self):
        """The parts of statements that are in none of those that `all` has made."""
        files = {path for path, _, _, literal in self.literals if self.BEGINNING.match(literal.texts[0])}
        for path, line, _, literal in self.literals:
            text = " ".join(" ".join(literal.texts).split())
            if path not in files or self.BEGINNING.match(literal.texts[0]) or not self.PART.search(text):
                continue
            pattern = re.compile(".*?".join(re.escape(" ".join(part.split())) for part in literal.texts))
            if not any(pattern.search(made) for made in self.made):
                yield f"{os.path.relpath(path, self.root)}:{line}: {text}"

    def _variants(self, name, literal):
        try:
            return [self._texts(name, literal, {})]
        except Unknown as error:
            reason = error
        variants = []
        for binding in self.bindings.get(name, ()):
            try:
                variants.append(self._texts(name, literal, binding))
            except Unknown as error:
                reason = error
        return variants or [reason]

    def _texts(self, name, literal, binding):
        return tuple(self._expand(name, literal, binding, is_sqlite) for is_sqlite in (True, False))

    def _expand(self, name, literal, binding, is_sqlite):
        parts = [literal.texts[0]]
        for expression, text in zip(literal.expressions, literal.texts[1:]):
            parts += [self._value(name, expression, binding, is_sqlite), text]
        return "".join(parts)

    def _value(self, name, expression, binding, is_sqlite):
        if expression in binding:
            self.used.add((name, expression))
            text = Literal(0, *_interpolated(binding[expression]))
            return self._expand(name, text, binding, is_sqlite)
        if expression == "SQLDialect.failing":
            return "OR FAIL" if is_sqlite else ""
        if found := re.fullmatch(r"SQLDialect\.index\((.*)\)", expression):
            index = found.group(1).strip('"')
            if not found.group(1).startswith('"'):
                index = self._value(name, found.group(1), binding, is_sqlite)
            return f"INDEXED BY {index}" if is_sqlite else ""
        owner, _, constant = expression.rpartition(".")
        for place in (name, name.partition("+")[0]) if not owner else (owner,):
            if (place, constant) in self.constants:
                if literal := self.constants[place, constant]:
                    return self._expand(place, literal, binding, is_sqlite)
                break
        raise Unknown(expression)


def _interpolated(text):
    literal, _ = _literal(f'"{text}"', 0, re.compile(r'(#*)(")').match('"'))
    return literal.texts, literal.expressions


def translated(statement):
    """The statement with `$1`, `$2` and so on in place of `?`, and how many there are. Quotes and comments are as they are."""
    parts, count = [], 0
    for found in re.finditer(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\?|[^?'\"/-]+|.", statement, re.DOTALL):
        part = found.group()
        if part == "?":
            count += 1
            part = f"${count}"
        parts.append(part)
    return "".join(parts), count
