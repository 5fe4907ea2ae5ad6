"""Whether every run of a matrix has what it asks of its sources, checked for all of them before a model is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_local.errors import AtomrError, InputError
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.store import KINDS, IndexKind, index_names, index_path, resolve
from atomr_local.settings.schema import Settings
from atomr_local.sources.registry import permitted
from atomr_local.strategies.options import options_of
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.requirements import check_facts, check_needs, check_only_source, lacks_source

_Problem = tuple[str, str]  # what is wrong, and what helps


class SourceCheck:
    """Gathers what is wrong with the sources of the runs, each problem once for a set."""

    def __init__(self) -> None:
        self._problems: dict[str, dict[_Problem, list[str]]] = {}
        self._indexes: dict[tuple[IndexKind, str], _Problem | None] = {}

    def run(self, set_name: str, arm: str, strategy: Strategy, settings: Settings) -> None:
        """Check one run. Of a strategy that needs a source that the set does not have, the other needs are not: it is
        left out there.

        Args:
            arm: the strategy, or the ablation of one.
            settings: those that the questions are asked with.
        """
        for problem in self._wrong(strategy, settings):
            arms = self._problems.setdefault(set_name, {}).setdefault(problem, [])
            arms += [arm] if arm not in arms else []

    def refuse(self) -> None:
        """Tell what was found to be wrong.

        Raises:
            InputError: something was; sets, strategies and what helps are named.
        """
        lines = [
            f"set {name}, {'strategies' if len(arms) > 1 else 'strategy'} {', '.join(arms)}: {what}"
            + (f" → {hint}" if hint else "")
            for name, problems in self._problems.items()
            for (what, hint), arms in problems.items()
        ]
        if lines:
            raise InputError(
                "\n  ".join(["some runs lack what they need; nothing was asked", *lines]),
                hint="Then run the same command again. --only and --strategies leave sets and strategies out.",
            )

    def _wrong(self, strategy: Strategy, settings: Settings) -> Iterator[_Problem]:
        if not strategy.uses_sources or lacks_source(strategy, settings.sources):
            return
        names = zip(KINDS, (settings.text_index, settings.graph_index), strict=True)
        indexes = [self._index(kind, name) for kind, name in names if kind in settings.sources]
        if any(indexes):
            yield from filter(None, indexes)
            return
        options = options_of(strategy, settings)
        try:
            check_needs(strategy, settings.sources, settings)
            check_facts(strategy, options, settings.sources, settings)
            check_only_source(strategy, options, permitted(settings.sources, web=False))
        except AtomrError as error:
            yield error.message, error.hint

    def _index(self, kind: IndexKind, name: str) -> _Problem | None:
        """Why the index cannot be used; each is looked at once."""
        if (kind, name) not in self._indexes:
            self._indexes[kind, name] = None
            try:
                for one in index_names(resolve(kind, name)):
                    directory = index_path(kind, one)
                    if directory.exists():  # the starter is built on first use
                        require_unchanged(kind, directory)
            except AtomrError as error:
                self._indexes[kind, name] = error.message, error.hint
        return self._indexes[kind, name]
