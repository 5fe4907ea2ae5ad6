"""What the MCP server offers and answers: tools and resources with their schemas, and calls of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from frozen_parts.cases import Case, Run
from frozen_parts.telling import Masks, lines_of
from frozen_parts.worlds import cases_of_extra

_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ask", {"question": "What shines?", "strategy": "closed-book"}),
    ("ask", {"question": "What is a lake?", "strategy": "rag"}),
    ("ask", {"question": "Who is the mother of Mary Shelley?", "sources": ["graph"]}),
    ("ask", {"question": " "}),
    ("ask", {"question": "Who?", "strategy": "magic"}),
    ("ask", {"question": "x" * 2001}),
    ("plan", {"question": "Who is the mother of Mary Shelley?"}),
    ("search_text", {"query": "lake"}),
    ("search_text", {"query": "nothing"}),
    ("search_text", {"query": "lake", "limit": 21}),
    ("read_page", {"title": "Como"}),
    ("read_page", {"title": "Cmo"}),
    ("read_page", {"title": "\n"}),
    ("find_entity", {"name": "Mary Shelley"}),
    ("find_entity", {"name": "Nobody"}),
    ("relate", {"entity": "Mary Shelley", "relation": "mother"}),
    ("relate", {"entity": "Mary Shelley", "relation": "mother", "limit": 0}),
    ("relate", {"entity": "Nobody", "relation": "mother"}),
    ("query_graph", {"sparql": "SELECT ?s WHERE { ?s ?p ?o } LIMIT 1"}),
    ("no_such_tool", {}),
)
_RESOURCES = ("atomr://trace/none", "atomr://trace/../../etc/passwd", "atomr://page/Como", "atomr://page/Cmo",
              "atomr://entity/Q47152", "file:///etc/passwd")  # fmt: skip


def cases(run: Run) -> Iterator[Case]:
    return cases_of_extra(run, "mcp", ("mcp",), _all)


async def _all(run: Run, hidden: Masks) -> list[Case]:
    from mcp import Client

    from atomr_local.server.mcp import make_server
    from frozen_parts.served import assistant

    found: list[Case] = []
    with assistant(run.scratch) as served:
        async with Client(make_server(served)) as client:
            for name in ("list_tools", "list_resources", "list_resource_templates", "list_prompts"):
                found.append(Case(name, await _tried(getattr(client, name)(), hidden)))
            for order, (name, arguments) in enumerate(_CALLS, 1):
                told = await _tried(client.call_tool(name, arguments), hidden)
                found.append(Case(f"call {order:02d} {name} {json.dumps(arguments)[:120]}", told))
            for place in _RESOURCES:
                found.append(Case(f"read {place}", await _tried(client.read_resource(place), hidden)))
    return found


async def _tried(wanted: Any, hidden: Masks) -> tuple[str, ...]:
    from mcp import MCPError

    try:
        found = await wanted
    except MCPError as error:
        return tuple(hidden.text(f"error: {error}").split("\n"))
    return lines_of(_read(found.model_dump(mode="json", exclude_none=True)), hidden)


def _read(value: Any) -> Any:
    """JSON inside texts as what it says, so that what is hidden in it is found."""
    if isinstance(value, dict):
        return {name: _read(inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [_read(inside) for inside in value]
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return {"as JSON": json.loads(value)}
        except ValueError:
            return value
    return value
