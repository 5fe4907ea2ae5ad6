"""A request that is not served, whatever protocol it came by."""

from __future__ import annotations

from atomr_local.errors import AtomrError


class Refused(AtomrError):
    """A request that is not served.

    Attributes:
        status: of HTTP.
        retry_after: seconds after which it may succeed.
        param: the field of the request that is at fault.
        code: what it is, for programs.
    """

    title = "Request refused"

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str = "",
        title: str | None = None,
        retry_after: int | None = None,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, title=title)
        self.status = status
        self.retry_after = retry_after
        self.param = param
        self.code = code


def stopping() -> Refused:
    """What is said while the server stops."""
    return Refused(503, "the server is stopping", title="Not available", retry_after=5, code="stopping")
