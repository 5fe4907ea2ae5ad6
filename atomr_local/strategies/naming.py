"""Chooses the spelling of a name that the sources know, if question and plan differ."""

from __future__ import annotations

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.names import name_key
from atomr_local.planning.spelling import Respelt, respelt, spelt
from atomr_local.sources.protocol import Request, SourceName, Value
from atomr_local.strategies.protocol import Toolbox
from atomr_local.tree.nodes import Tree
from atomr_local.tree.operators import Operator

_LOCAL = (SourceName.GRAPH, SourceName.TEXT)


def rightly_spelt(tree: Tree, tools: Toolbox) -> Tree:
    """The tree with names as they were typed, but for those of which the local sources know only the plan's spelling.

    Raises:
        Cancelled: the question was cancelled.
    """
    return spelt(tree, [name for name in respelt(tree) if not _put_right(name, tools)])


def _put_right(name: Respelt, tools: Toolbox) -> bool:
    """Whether the typed name is unknown and the plan's spelling is known: then the model has put it right."""
    return not _known(name.typed, tools) and _known(name.written, tools)


def _known(name: str, tools: Toolbox) -> bool:
    """Whether what a local source finds for the name has it, spelt so."""
    request = Request(f"Who or what is {name}?", name, Operator.SEARCH, (Value(name),))
    for source in (tools.sources[which] for which in _LOCAL if which in tools.sources):
        try:
            found = source.retrieve(request, tools.cancellation)
        except Cancelled:
            raise
        except AtomrError:
            continue  # the step that looks the name up will tell
        if any(f" {name_key(name)} " in f" {name_key(f'{item.title} {item.text}')} " for item in found.evidence):
            return True
    return False
