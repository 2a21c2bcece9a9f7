"""A hand-written parser of requests, character by character: text in, plain items out.

It was written apart from the package's grammar, from rules that were observed in Grew 1.20.
"""

from __future__ import annotations

import re
import unicodedata

from patterns import items
from patterns.items import Attribute, Block, Comparison, Edge, Flag, Item, Label, Order, Term, Test
from patterns.regexes import Regex, RequestError, from_pcre, from_str, plain

_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_'$-]*[A-Za-z0-9_'$])?")
_KEY = re.compile(r"[1-9](?!\w)|[A-Za-z_][A-Za-z0-9_]*")
_LABEL = re.compile(r"[A-Za-z0-9_:@/.'$-]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?!\w)")
_KEYWORDS = (
    *("pattern", "with", "without", "global", "commands", "rule", "package", "strat", "include"),
    *("import", "from", "add_edge", "del_edge", "shift_in", "shift_out", "shift", "add_node"),
    *("del_node", "del_feat", "append_feats", "prepend_feats", "unorder", "insert"),
    *("Pick", "Alt", "Seq", "Iter", "If", "Onf", "Try", "Empty"),
)
_COMPARISONS = ("<>", "<=", ">=", "=", "<", ">")


def parse(text: str) -> items.Request:
    """Parse a request. Raises RequestError for a text that is none."""
    return _Reader(unicodedata.normalize("NFC", text)).request()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.block = Block("pattern")

    def fail(self, wanted: str) -> RequestError:
        return RequestError(
            f"{wanted} is due at {self.at}: ...{self.text[self.at : self.at + 20]!r}"
        )

    def space(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at] == "%":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at].isspace():
                self.at += 1
            else:
                return

    def sees(self, sign: str) -> bool:
        self.space()
        return self.text.startswith(sign, self.at)

    def took(self, *signs: str) -> str | None:
        """Read the first of these signs that comes next; None if none does."""
        for sign in signs:
            if self.sees(sign):
                self.at += len(sign)
                return sign
        return None

    def take(self, sign: str) -> None:
        if self.took(sign) is None:
            raise self.fail(sign)

    def matched(self, expression: re.Pattern[str]) -> str | None:
        self.space()
        found = expression.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def name(self, keywords: bool = False) -> str:
        before = self.at
        found = self.matched(_NAME)
        if found is None or (found in _KEYWORDS and not keywords):
            self.at = before
            raise self.fail("a name")
        return found

    def node(self) -> str:
        """Read the name of a node; one that ends in `$` may be the same word as another node."""
        found = self.name()
        if found.endswith("$"):
            self.block.loose.add(found)
        return found

    def end(self) -> str:
        """Read an end of an edge: a star or a node."""
        return items.STAR if self.took(items.STAR) else self.node()

    # Blocks.

    def request(self) -> items.Request:
        pattern = Block("pattern")
        filters: list[Block] = []
        self.space()
        while self.at < len(self.text):
            kind = self.matched(_NAME)
            if kind not in ("pattern", "with", "without", "global"):
                raise self.fail("pattern, with, without or global")
            self.block = pattern if kind == "pattern" else Block(kind)
            self.take("{")
            while not self.took("}"):
                self.block.items.append(self.fact() if kind == "global" else self.item())
                if not self.took(";") and not self.sees("}"):
                    raise self.fail("; or }")
            if kind != "pattern":
                filters.append(self.block)
            self.space()
        if "{" not in self.text:
            raise RequestError("a block is due")
        return items.Request(pattern, filters)

    def fact(self) -> Item:
        """Read an item of a `global` block."""
        if self.took("!"):
            return items.Meta(Test(self.name(), "none"))
        key = self.name()
        flag = _flag(key)
        if flag is not None:
            return flag
        test = self.test(key)
        if test.op == "some" and not self.text[: self.at].endswith("*"):
            raise self.fail("= or <>")
        return items.Meta(test)

    def item(self) -> Item:
        start = self.at
        if self.took(items.STAR):
            return self.edge(None, items.STAR)
        if self.took("!"):
            return self.compared(self.attribute(self.name(keywords=True)), "none")
        number = self.matched(_NUMBER)
        if number is not None:
            return self.compared(float(number))
        first = self.name(keywords=True)
        if first in ("delta", "length", "proj_size") and self.took("("):
            return self.compared(self.measure(first))
        if first in ("meta", "global") and self.sees("."):
            return self.dotted(first)
        if first in _KEYWORDS:
            self.at = start
            raise self.fail("a name that is no keyword")
        if self.sees("."):
            return self.compared(self.attribute(first))
        if self.took(":"):
            return self.edge(first, self.end())
        if first.endswith("$"):
            self.block.loose.add(first)
        if self.sees("["):
            return items.Node(first, self.alternatives())
        if self.sees("->>"):
            self.take("->>")
            return Order(first, "->>", self.node())
        if self.sees("->") or self.sees("-[") or self.sees("=[") or self.sees("~"):
            return self.edge(None, first)
        sign = self.took("<<", ">>", "><", "<>", "<", ">")
        if sign is None:
            raise self.fail("[, an edge or an order")
        second = self.name()
        if sign in (">", ">>"):
            return Order(second, sign.replace(">", "<"), first)
        return Order(first, sign, second)

    def dotted(self, first: str) -> Item:
        self.take(".")
        key = self.name(keywords=True)
        if first == "global":
            flag = _flag(key)
            if flag is None:
                raise self.fail("is_tree or is_projective")
            return flag
        return self.compared(Attribute("meta", key))

    # Nodes.

    def alternatives(self) -> tuple[tuple[Test, ...], ...]:
        found = [self.bracket()]
        while self.took("|"):
            found.append(self.bracket())
        return tuple(found)

    def bracket(self) -> tuple[Test, ...]:
        self.take("[")
        tests: list[Test] = []
        while not self.took("]"):
            tests.append(Test(self.name(), "none") if self.took("!") else self.test(self.name()))
            if not self.took(",") and not self.sees("]"):
                raise self.fail(", or ]")
        return tuple(tests)

    def test(self, key: str) -> Test:
        sign = self.took("=", "<>")
        if sign is None:
            return Test(key, "some")
        if sign == "=" and self.took(items.STAR):
            return Test(key, "some")
        regex = self.regex()
        if regex is not None:
            return Test(key, sign, (), regex)
        values = [self.value()]
        while self.took("|"):
            values.append(self.value())
        otherwise = self.test(self.name()) if sign == "=" and self.took("/") else None
        return Test(key, sign, tuple(values), None, otherwise)

    def value(self) -> str:
        text = self.string()
        if text is not None:
            return text
        number = self.matched(_NUMBER)
        return self.name() if number is None else plain(float(number))

    def string(self) -> str | None:
        return self.quoted() if self.took('"') else None

    def quoted(self) -> str:
        """Read up to the closing quotation mark; a backslash before any other character stays."""
        found = ""
        while self.at < len(self.text):
            sign = self.text[self.at]
            after = self.text[self.at + 1 : self.at + 2]
            self.at += 1
            if sign == '"':
                return found
            if sign == "\\" and after in ('"', "\\"):
                sign = after
                self.at += 1
            found += sign
        raise self.fail('"')

    def regex(self) -> Regex | None:
        if self.took('re"'):
            return Regex(from_str(self.quoted()))
        if not self.took("/"):
            return None
        start = self.at
        while self.text[self.at : self.at + 1] not in ("/", ""):
            self.at += 2 if self.text[self.at] == "\\" else 1
        found = self.text[start : self.at]
        if self.text[self.at : self.at + 1] != "/":
            raise self.fail("/")
        self.at += 1
        ignore_case = self.text[self.at : self.at + 1] == "i"
        self.at += ignore_case
        return Regex(from_pcre(found.replace("\\/", "/")), ignore_case)

    # Edges.

    def edge(self, name: str | None, source: str) -> Item:
        how: Label | items.Heads
        if self.took("~"):
            if name is not None:
                raise self.fail("an edge that can have a name")
            return items.Corefer(source, self.end())
        if self.took("=["):
            how = self.heads()
            self.take("]=>")
        elif self.took("-["):
            how = self.label()
            self.take("]->")
        else:
            self.take("->")
            how = Label()
        target = self.end()
        if items.STAR in (source, target) and (name is not None or source == target):
            raise self.fail("a node: an edge with a star has no name")
        return Edge(name, source, target, how)

    def label(self) -> Label:
        if self.took('re"'):
            return Label(regex=Regex(from_str(self.quoted())))
        negated = self.took("^") is not None
        if self.sees("!"):
            return Label(parts=self.parts())
        start = self.at
        whole = [self.label_value()]
        if not negated and (self.sees("=") or self.sees("<>")):
            self.at = start
            return Label(parts=self.parts())
        while self.took("|"):
            whole.append(self.label_value())
        return Label(tuple(whole), negated)

    def label_value(self) -> str:
        text = self.string()
        found = self.matched(_LABEL) if text is None else text
        if found is None:
            raise self.fail("a label")
        return found

    def parts(self) -> tuple[Test, ...]:
        tests = []
        while True:
            if self.took("!"):
                tests.append(Test(self.label_value(), "none"))
            else:
                key = self.label_value()
                sign = self.took("=", "<>")
                if sign is None:
                    raise self.fail("= or <>")
                if sign == "=" and self.took(items.STAR):
                    tests.append(Test(key, "some"))
                else:
                    values = [self.label_value()]
                    while self.took("|"):
                        values.append(self.label_value())
                    tests.append(Test(key, sign, tuple(values)))
            if not self.took(","):
                return tuple(tests)

    def heads(self) -> items.Heads:
        layer = self.place()
        head = None
        if self.took("-"):
            head = self.place()
        elif layer is not None:
            raise self.fail("a layer and a head, as in 3-1")
        sign = self.took("<=", ">=", "<", ">")
        if sign is None:
            return items.Heads(layer, head)
        number = self.matched(_NUMBER)
        if number is None:
            raise self.fail("a weight")
        return items.Heads(layer, head, sign, float(number))

    def place(self) -> int | None:
        if self.took(items.STAR):
            return None
        found = self.matched(re.compile("[0-9]+"))
        if found is None:
            raise self.fail("a number or *")
        return int(found)

    # Comparisons.

    def measure(self, which: str) -> Attribute:
        one = self.name()
        other = None
        if which != "proj_size":
            self.take(",")
            other = self.name()
        self.take(")")
        return Attribute(one, which, other)

    def attribute(self, owner: str) -> Attribute:
        self.take(".")
        key = self.matched(_KEY) or self.name()
        while self.took("/"):
            key += f"/{self.name()}"
        return Attribute(owner, key)

    def summed(self, first: Term) -> Term:
        """Read what is added to a term, or taken from it."""
        parts = [(1, first)]
        while sign := self.took("+", "-"):
            parts.append((1 if sign == "+" else -1, self.right()))
        return first if len(parts) == 1 else items.Sum(tuple(parts))  # type: ignore[arg-type]

    def compared(self, left: Term, op: str | None = None) -> Item:
        """Read the rest of a comparison after its left side; for metadata, it is a Meta."""
        right: Term | None = None
        if op is None:
            left = self.summed(left)
            op = self.took(*_COMPARISONS) or "some"
            if op == "=" and self.took(items.STAR):
                op = "some"
            right = None if op == "some" else self.summed(self.right())
        if isinstance(left, Attribute) and left.owner == "meta" and left.other is None:
            if isinstance(right, Regex):
                return items.Meta(Test(left.key, op, (), right))
            if isinstance(right, Attribute | items.Sum) or op in ("<", ">", "<=", ">="):
                raise self.fail("a value")
            value = plain(right) if isinstance(right, float) else right
            return items.Meta(Test(left.key, op, () if value is None else (value,)))
        if isinstance(right, Regex) and op not in ("=", "<>"):
            raise self.fail("= or <>")
        if op in ("some", "none") and not isinstance(left, Attribute):
            raise self.fail("a comparison")
        if isinstance(left, float) and not isinstance(right, Attribute):
            raise self.fail("a feature")
        return Comparison(left, op, right)

    def right(self) -> Term:
        regex = self.regex()
        if regex is not None:
            return regex
        text = self.string()
        if text is not None:
            return text
        number = self.matched(_NUMBER)
        if number is not None:
            return float(number)
        found = self.name(keywords=True)
        if found in ("delta", "length", "proj_size") and self.took("("):
            return self.measure(found)
        if self.sees("."):
            return self.attribute(found)
        if found in _KEYWORDS:
            raise self.fail("a value that is no keyword")
        return found


def _flag(key: str) -> Flag | None:
    wanted = not key.startswith("is_not_")
    name = key.replace("is_not_", "is_", 1)
    return Flag(name, wanted) if name in items.FLAGS else None
