"""Secrets that are never shown, and addresses that are shown without their secrets.

A secret is an object of its own type. Its text comes out only by :meth:`Secret.reveal`: whatever prints, formats,
logs or serialises it gets `…`. The user name, the password and the query of an address are secrets too.
"""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Any, Self
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

HIDDEN = "…"
_LONGEST = 8192  # characters of a secret or an address
_LONGEST_SHOWN = 300
_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]{0,30})://")
_QUERY_NAME = re.compile(r"[A-Za-z][\w.\[\]-]{0,40}", re.ASCII)
# The names of what a query may hold that is nobody's business, as services name them.
_SECRET_NAME = re.compile(
    r"key|token|secret|passw|pwd|auth|sig|credential|session|jwt|sas|code|x-amz-|x-goog-|access|^user|^login|^se$|^sp$",
    re.IGNORECASE,
)


class Secret:
    """A text that is not shown. Compares equal to another secret, and to a plain text, of the same characters."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself: for the place that sends it and the file that keeps it, and for nothing else."""
        return self._text

    def shown(self) -> str:
        """The text for display: "…" if there is a text, and "" if not."""
        return HIDDEN if self._text else ""

    def __str__(self) -> str:
        return self.shown()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown()!r})"

    def __format__(self, spec: str) -> str:
        return format(self.shown(), spec)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Secret):
            return self._text == other._text
        return self._text == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Made from a text; dumped to JSON as what may be shown, to Python as the object."""
        return core_schema.no_info_plain_validator_function(
            cls._checked,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda held: held.shown(), when_used="json"),
        )

    @classmethod
    def _checked(cls, value: object) -> Self:
        text = value.reveal() if isinstance(value, Secret) else value
        if not isinstance(text, str):
            raise ValueError("expected a text")
        if len(text) > _LONGEST:
            raise ValueError(f"expected a text of at most {_LONGEST} characters")
        if HIDDEN in text:
            raise ValueError(f"{HIDDEN} only stands for what is not shown: write the value out")
        return cls(text)


class SecretUrl(Secret):
    """An address that may hold a user name, a password or a key: shown without them."""

    __slots__ = ()

    def shown(self) -> str:
        return shown_url(self._text, own=True)

    def remote_host(self) -> str:
        """The other machine that it names, with its port where one is given; "" for none, and for this machine."""
        try:
            parts = urlsplit(self._text.strip())
            name, port = parts.hostname or "", parts.port
            name = name if name.isascii() else name.encode("idna").decode("ascii")
        except (ValueError, UnicodeError):  # not usable: nothing will be sent there
            return ""
        if not name or is_loopback(name):
            return ""
        name = f"[{name}]" if ":" in name else name
        usual = {"http": 80, "https": 443}.get(parts.scheme)
        return f"{name}:{port}" if port and port != usual else name


def shown_url(url: str, *, own: bool = False) -> str:
    """An address as it may be shown, stored and logged: without user name, password and secrets of its query.

    The user's name and password become `…`, and so do the values of a query whose names speak of a secret, such as
    `api_key`, `token` or `X-Amz-Signature`. The fragment is dropped where it may be one. Never raises; an address
    that cannot be taken apart is cut short rather than shown whole.

    Args:
        own: the address is one that the user gave for credentials to stand in. Then every value of its query is hidden,
            and everything up to the last `@` counts as user name and password: in a password somebody may have left a
            `/`, `?` or `#` as it is.
    """
    url = url.strip()
    scheme = _SCHEME.match(url)
    if scheme is None:
        # "user:password@host" without a scheme, and whatever else somebody may take for an address
        rest = url.rpartition("@")[2] if "@" in url else url
        return _short(f"{HIDDEN}@{_tail(rest, own)}" if "@" in url else _tail(url, own))
    begin, rest = url[: scheme.end()].strip(), url[scheme.end() :]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    try:
        urlsplit(url).port  # noqa: B018 - raises for a port that is none: then a password was cut in two
    except ValueError:
        own = True
    if own and "@" in rest:
        rest = f"{HIDDEN}@{rest.rpartition('@')[2]}"
    elif "@" in authority:
        rest = f"{HIDDEN}@{rest[authority.rindex('@') + 1 :]}"
    return _short(begin + _tail(rest, own))


def _tail(rest: str, own: bool) -> str:
    """Host and path as they are, the query's secrets hidden, the fragment hidden where it may be one."""
    rest, hash_sign, fragment = rest.partition("#")
    path, mark, query = rest.partition("?")
    if mark:
        path += "?" + "&".join(_field(field, own) for field in query.split("&"))
    if hash_sign and fragment:
        path += f"#{HIDDEN}" if own or "=" in fragment else f"#{fragment}"
    return path


def _field(field: str, own: bool) -> str:
    name, sign, value = field.partition("=")
    if not sign:
        return HIDDEN if own and name else name
    if not _QUERY_NAME.fullmatch(name):
        return f"{HIDDEN}={HIDDEN}" if own else f"{name}={HIDDEN if _SECRET_NAME.search(name) else value}"
    return f"{name}={HIDDEN}" if value and (own or _SECRET_NAME.search(name)) else field


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}{HIDDEN}"


def without_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """`text` with each of the secrets in it replaced by `…`, however a server may have encoded it.

    Args:
        secrets: as they are; texts of fewer than 4 characters are skipped, for they stand in any text.
    """
    for secret in forms(secrets):
        text = text.replace(secret, HIDDEN)
    return text


def forms(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """The secrets as they are, and as addresses, JSON and Python write them; the longest first, short ones left out."""
    found = {
        form
        for secret in secrets
        for form in (
            secret,
            quote(secret, safe=""),
            quote_plus(secret),
            unquote(secret),
            unquote_plus(secret),
            json.dumps(secret)[1:-1],
            repr(secret)[1:-1],
        )
        if len(form) >= 4
    }
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def is_loopback(host: str | None) -> bool:
    """Whether a host, without port and brackets, is this machine itself: 127.0.0.0/8, ::1 or localhost."""
    name = (host or "").strip("[]").casefold().rstrip(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
