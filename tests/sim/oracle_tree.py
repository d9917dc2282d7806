"""A radix prefix cache over explicit token lists: dictionaries and recursion, nothing clever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Token = tuple[int, int]


class Node:
    def __init__(self, parent: Node | None, tokens: list[Token], made: int) -> None:
        self.parent = parent
        self.tokens = tokens
        self.children: dict[tuple[Token, ...], Node] = {}
        self.lock = 0
        self.access = 0
        self.hits = 0
        self.priority = 0
        self.made = made

    def depth(self) -> int:
        return len(self.tokens) + (self.parent.depth() if self.parent else 0)


class Tree:
    def __init__(self, page: int, policy: str, threshold: int = 0, estimate: int = 0) -> None:
        self.page = page
        self.policy = policy
        self.threshold = threshold
        self.estimate = estimate
        self.clock = 0
        self.made = 0
        self.roots: dict[int, Node] = {}
        self.top = Node(None, [], 0)

    def key(self, tokens: list[Token]) -> tuple[Token, ...]:
        return tuple(tokens[: self.page])

    def with_space(self, space: int, tokens: list[Token]) -> list[Token]:
        # a namespace is part of the first page's identity
        return [(space * 1_000_003 + 7, -1), *tokens]

    def nodes(self) -> list[Node]:
        out: list[Node] = []
        todo = [self.top]
        while todo:
            node = todo.pop()
            out.append(node)
            todo.extend(node.children.values())
        return out

    def child(self, node: Node, space: int, rest: list[Token]) -> Node | None:
        if len(rest) < self.page:
            return None
        return node.children.get(self.child_key(node, space, rest))

    def child_key(self, node: Node, space: int, rest: list[Token]) -> Any:
        return (space, self.key(rest)) if node is self.top else self.key(rest)

    def split(self, node: Node, space: int, at: int) -> Node:
        parent = node.parent
        assert parent is not None
        self.made += 1
        upper = Node(parent, node.tokens[:at], node.made)
        node.made = self.made
        upper.lock, upper.access, upper.hits, upper.priority = node.lock, node.access, node.hits, node.priority
        parent.children[self.child_key(parent, space, node.tokens)] = upper
        node.parent = upper
        node.tokens = node.tokens[at:]
        upper.children[self.key(node.tokens)] = node
        return upper

    def walk(self, space: int, tokens: list[Token], visit: Callable[[Node], None]) -> tuple[Node, int]:
        self.clock += 1
        node = self.top
        at = 0
        while at < len(tokens):
            child = self.child(node, space, tokens[at:])
            if child is None:
                break
            same = 0
            while same < len(child.tokens) and at + same < len(tokens) and child.tokens[same] == tokens[at + same]:
                same += 1
            same -= same % self.page
            child.access = self.clock
            if same < len(child.tokens):
                child = self.split(child, space, same)
                visit(child)
                return child, at + same
            visit(child)
            node = child
            at += same
        return node, at

    def match(self, space: int, tokens: list[Token]) -> tuple[Node, int]:
        return self.walk(space, tokens, lambda node: None)

    def insert(self, space: int, tokens: list[Token], priority: int, count: bool) -> tuple[Node, int]:
        def visit(node: Node) -> None:
            node.priority = max(node.priority, priority)
            node.hits += count

        node, at = self.walk(space, tokens, visit)
        if at < len(tokens):
            self.made += 1
            new = Node(node, tokens[at:], self.made)
            new.priority = priority
            new.access = self.clock
            node.children[self.child_key(node, space, tokens[at:])] = new
            node = new
        return node, at

    def lock(self, node: Node | None, by: int) -> None:
        while node is not None and node is not self.top:
            node.lock += by
            node = node.parent

    def evictable(self) -> int:
        return sum(len(node.tokens) for node in self.nodes() if node is not self.top and node.lock == 0)

    def protected(self) -> int:
        return sum(len(node.tokens) for node in self.nodes() if node.lock > 0)

    def sort_key(self, node: Node) -> tuple[int, int]:
        if self.policy == "lfu":
            return node.hits, node.access
        if self.policy == "slru":
            return int(node.hits >= 2), node.access
        if self.policy == "priority":
            return node.priority, node.access
        if self.policy == "tlru":
            end = node.depth()
            keep = max(0, end + self.estimate - self.threshold)
            return (0 if end - len(node.tokens) >= keep else 1), node.access
        return 0, node.access

    def evict(self, need: int) -> int:
        freed = 0
        while freed < need:
            leaves = [n for n in self.nodes() if n is not self.top and n.lock == 0 and not n.children]
            if not leaves:
                break
            leaf = min(leaves, key=lambda n: (*self.sort_key(n), n.made))
            assert leaf.parent is not None
            freed += len(leaf.tokens)
            leaf.parent.children = {k: v for k, v in leaf.parent.children.items() if v is not leaf}
        return freed
