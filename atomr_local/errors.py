"""The errors of atomr-local.

Every failure that a user can cause or meet is an :class:`AtomrError`: a short title, a message that
names the file, key or value at fault, and a hint that says what to do about it. Exceptions of other
libraries are wrapped at the wall where they enter.
"""

from __future__ import annotations

import sys

from atomr_local.system.scarcity import scarcity_hint


class AtomrError(Exception):
    """A failure shown to the user as title, message and hint.

    Attributes:
        title: a few words naming the kind of failure.
        message: what is wrong, naming the file, key or value at fault.
        hint: what the user can do about it; may be empty. Where the error being handled shows that the system has run
            out of files, threads, memory or room on the disk, it says what to do about that instead.
    """

    title = "Something went wrong"

    def __init__(self, message: str, *, hint: str = "", title: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        scarce = scarcity_hint(sys.exception())
        # A hint about a full disk says more already, such as whether the command can be resumed.
        self.hint = hint if not scarce or "space" in hint else scarce
        if title is not None:
            self.title = title

    def __str__(self) -> str:
        return f"{self.title}: {self.message}"

    def in_full(self) -> str:
        """Title and message, and the hint on a second line."""
        return f"{self}\n→ {self.hint}" if self.hint else str(self)


class SettingsError(AtomrError):
    """A setting is unknown, or its value cannot be used."""

    title = "Settings not usable"


class InputError(AtomrError):
    """A file or value given by the user is not what it should be."""

    title = "Input not usable"


class PlanError(AtomrError):
    """A plan given by the user is not a valid reasoning tree."""

    title = "Plan not valid"


class ModelError(AtomrError):
    """A model file or model endpoint cannot be used."""

    title = "Model not usable"


class KnowledgeIndexError(AtomrError):
    """A text or graph index is missing, damaged or does not fit the request."""

    title = "Index not usable"


class SourceError(AtomrError):
    """A knowledge source failed while retrieving."""

    title = "Source failed"


class WebDisabledError(SourceError):
    """Web search was asked for while it is off."""

    title = "Web access is off"


class QueryError(AtomrError):
    """A SPARQL query was refused or failed."""

    title = "Query refused"


class CallLimitError(AtomrError):
    """A question has used up its model calls."""

    title = "Call limit reached"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the question has used all of its {limit} model calls",
            hint="Raise limits.calls in the settings, or ask a simpler question.",
        )


class MissingPartError(AtomrError):
    """An optional package or file that this operation needs is not installed."""

    title = "Part missing"


class Cancelled(AtomrError):
    """The user cancelled the operation; not a failure."""

    title = "Cancelled"

    def __init__(self, message: str = "the operation was cancelled") -> None:
        super().__init__(message)
