"""The last answers, for those who asked."""

from __future__ import annotations

from collections import Counter, OrderedDict

from atomr_local.answer import Answer

KEPT = 50  # of a session
_KEPT_IN_ALL = 200


class Answers:
    """Answers by the session that asked and the id of their trace; the last ones of each session.

    Where there are too many in all, the session with the most loses its oldest: no session pushes out another's.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, str], Answer] = OrderedDict()
        self._counts: Counter[str] = Counter()

    def add(self, session: str, answer: Answer) -> None:
        self._answers[session, answer.trace.id] = answer
        self._counts[session] += 1
        if self._counts[session] > KEPT:
            self._drop(session)
        if len(self._answers) > _KEPT_IN_ALL:
            self._drop(self._counts.most_common(1)[0][0])

    def get(self, session: str, identifier: str) -> Answer | None:
        """The answer with this trace, if this session asked for it."""
        return self._answers.get((session, identifier))

    def _drop(self, session: str) -> None:
        """Forget the oldest answer of the session."""
        del self._answers[next(key for key in self._answers if key[0] == session)]
        self._counts[session] -= 1
        if not self._counts[session]:
            del self._counts[session]
