"""How the server is run: the address, the token, and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from atomr_local.errors import InputError
from atomr_local.system.credentials import Secret, is_loopback

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8420
SHORTEST_TOKEN = 16
TOKEN_VARIABLE = "ATOMR_SERVE_TOKEN"  # noqa: S105 - its name


@dataclass(frozen=True)
class ServeOptions:
    """The limits of one server. Times are in seconds.

    Attributes:
        host: the address that it listens on.
        token: that requests must bring; empty: none.
        names: names of the server, beside the usual ones, that a Host header may have.
        queue: questions that may wait for their turn; so may look-ups.
        question_seconds: that a question may take from its turn on.
        lookup_seconds: that any other request may take.
        grace_seconds: that running questions still have when the server stops.
        keep: whether questions are kept in the history.
        most_requests: that may be in work at once, whatever they ask for, with those whose body is still arriving.
        body_bytes: of a request.
        small_body_bytes: a body up to this size has room in any case.
        bodies_bytes: of all larger bodies together, of the requests in work.
        body_seconds: for a request's body to arrive.
        send_seconds: for a client to take the next piece of an answer.
        ping_seconds: between signs of life on a silent stream.
    """

    host: str = DEFAULT_HOST
    token: Secret = field(default_factory=Secret)
    names: tuple[str, ...] = ()
    queue: int = 32
    question_seconds: float = 600.0
    lookup_seconds: float = 30.0
    grace_seconds: float = 10.0
    keep: bool = True
    most_requests: int = 256
    body_bytes: int = 1 << 20
    small_body_bytes: int = 1 << 16
    bodies_bytes: int = 32 << 20
    body_seconds: float = 20.0
    send_seconds: float = 30.0
    ping_seconds: float = 15.0

    @property
    def loopback(self) -> bool:
        """Whether it listens for programs of this machine only."""
        return is_loopback(self.host)

    @property
    def local(self) -> bool:
        """Whether only programs of this machine can reach the server: no proxy hands on what others ask by a name."""
        return self.loopback and all(is_loopback(name) for name in self.names)


def checked_token(text: str) -> Secret:
    """The token.

    Raises:
        InputError: it cannot stand in a header, or could be guessed. The message does not show it.
    """
    text = text.strip()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise InputError(
            "the token has characters that cannot be sent", hint="Use ASCII letters, digits and signs, without spaces."
        )
    if len(text) < SHORTEST_TOKEN:
        raise InputError(
            f"the token has {len(text)} characters, fewer than {SHORTEST_TOKEN}",
            hint="Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return Secret(text)


def check_address(options: ServeOptions) -> None:
    """Refuse to let other machines in without a token, by themselves or through a proxy.

    Raises:
        InputError: they could come in.
    """
    if not options.local and not options.token:
        way = options.host if not options.loopback else next(name for name in options.names if not is_loopback(name))
        raise InputError(
            f"other machines can reach {way}, and there is no token",
            hint=f"Give one with --token-file FILE or {TOKEN_VARIABLE}, or leave --host and --allow-host out.",
        )
