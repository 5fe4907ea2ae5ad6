"""A polite HTTP client: one connection, a user agent, a rate limit, and pauses when a server asks for them."""

from __future__ import annotations

import email.utils
import platform
import ssl
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx

from atomr_local import __version__
from atomr_local.errors import AtomrError
from atomr_local.system.credentials import shown_url
from atomr_local.system.network import (
    NotPublicError,
    PublicTransport,
    TooMuchError,
    bounded_body,
    names_local_server,
    names_private,
)
from atomr_local.system.sanitize import sanitize_line

T = TypeVar("T")

_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_DOCUMENT_SECONDS = 900.0  # for one document as a whole, however slowly it comes
_HEAD_SECONDS = 600.0  # until the headers of an answer are there
# By the status of a refusal.
_HINTS = {
    401: "The server requires a login. Download the file with a browser and put it in place yourself.",
    403: "It may want to know whom to reach: give your address with --contact.",
    404: "It may be gone, or the name may be wrong.",
    410: "It may be gone, or the name may be wrong.",
}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 300.0
_LONGEST_WAIT = 3600.0  # a server that wants longer is not waited for
_SHOWN = 200


class FetchError(AtomrError):
    """A download cannot be finished; what was fetched so far is kept unless the message says otherwise."""

    title = "Download failed"


class Missing(FetchError):
    """The server has no such file."""


class Passing(Exception):
    """A fault that may pass: the same is tried again after a pause.

    Attributes:
        wait: seconds that the server asks for; 0 if it does not.
    """

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class Limiter:
    """Keeps an amount per second: :meth:`spend` sleeps until the amount may be spent. Idle time is not saved up."""

    def __init__(self, rate: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def spend(self, amount: float) -> None:
        if not self._rate:
            return
        now = self._clock()
        self._free_at = max(now, self._free_at) + amount / self._rate
        if self._free_at > now:
            self._sleep(self._free_at - now)


@dataclass(kw_only=True, eq=False, repr=False)
class Client:
    """See the module. Not thread-safe.

    Args:
        tries: how often in a row something may fail without any gain before it is given up.
        contact: an e-mail address or a web page for servers, so that their operators can report a problem.
        timeout: seconds without a byte after which a connection counts as broken.
        rate: bytes per second at most; 0: as fast as it goes.
        use_proxy: whether the proxies that the environment names are used.
        base_url: a server that the user named: it may be asked over http and have an address that is not public. So may
            a host that is itself written as such an address, like 127.0.0.1.
        clock: stands in for the time in tests, like `sleep`; seconds.
        notify: is given one line for the user where there is something to report.
    """

    contact: str = ""
    tries: int = 8
    timeout: float = 60.0
    rate: float = 0.0
    use_proxy: bool = False
    base_url: str = ""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    notify: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self._trusted = checked_url(self.base_url).hostname if self.base_url else None
        self.limiter = Limiter(self.rate, self.clock, self.sleep)
        self._clients: dict[bool, httpx.Client] = {}
        self._transport = PublicTransport(_certificates(), self._own)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.close()

    @contextmanager
    def open(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        data: dict[str, str] | None = None,
        accepted: Collection[int] = (200,),
        enough: Callable[[httpx.Headers], bool] = lambda _: False,
    ) -> Iterator[httpx.Response]:
        """The answer to one request, its body still unread.

        Public hosts are asked over https alone, and only at public addresses; so is whatever they redirect to. A host
        of the user's own (see :class:`Client`) may be asked over http and have any address; redirects of it lead back
        to it or to public hosts.

        Args:
            data: sent as a form.
            accepted: statuses that are taken.
            enough: whether a redirect's own headers are all that is wanted; it is not followed then.

        Raises:
            Passing: no connection, a break, or a status that may pass; also for breaks while the body is read.
            FetchError: the server refuses, or redirects where it may not.
        """
        first = checked_url(url).hostname
        for _ in range(_MAX_REDIRECTS + 1):
            client = self._client(self._permitted(url, first))
            self._transport.network.deadline = time.monotonic() + _HEAD_SECONDS
            try:
                with client.stream(method, url, headers=headers, data=data) as response:
                    self._transport.network.deadline = None  # a large file takes as long as it takes
                    redirects = response.status_code in _REDIRECTS
                    if not redirects:
                        _check_status(response, url, accepted, bool(self.contact))
                    if not redirects or enough(response.headers):
                        yield response
                        return
                    url = redirected(url, response, posted=data is not None)
            except NotPublicError as error:
                raise FetchError(f"{shown(url)}: {error.message}", hint=error.hint) from error
            except (httpx.TransportError, httpx.DecodingError) as error:
                if isinstance(error, httpx.UnsupportedProtocol | httpx.ProxyError):
                    raise FetchError(f"{shown(url)}: {_words(error)}", hint="Check the proxy settings.") from error
                raise Passing(f"{_host(url)}: {_words(error)}") from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise FetchError(f"{shown(url)}: {_words(error)}") from error
        raise FetchError(f"{shown(url)}: more than {_MAX_REDIRECTS} redirects", hint="Is the address right?")

    def body(self, url: str, limit: int, *, data: dict[str, str] | None = None) -> tuple[bytes, httpx.Headers]:
        """A small document as a whole, with the headers of the answer; one request.

        Args:
            limit: bytes, decoded, beyond which it is refused.
            data: sent as a form, by POST.

        Raises:
            Passing, FetchError: as :meth:`open`; FetchError also for a document that is too long.
        """
        deadline = time.monotonic() + _DOCUMENT_SECONDS
        with self.open(url, method="POST" if data is not None else "GET", data=data) as response:
            try:
                return b"".join(bounded_body(response, limit, deadline)), response.headers
            except TooMuchError as error:
                raise FetchError(f"{shown(url)}: {error.message}", hint="Is the address right?") from error

    def document(self, url: str, limit: int = 8 << 20) -> bytes:
        """The same with tries and pauses."""
        return self.persist(lambda: self.body(url, limit)[0])

    def head(self, url: str, enough: Callable[[httpx.Headers], bool] = lambda _: False) -> httpx.Headers:
        """What a server says of a file, without the file; `enough` as for :meth:`open`."""

        def ask() -> httpx.Headers:
            headers = {"accept-encoding": "identity"}
            with self.open(url, method="HEAD", headers=headers, enough=enough) as response:
                return response.headers

        return self.persist(ask)

    def size(self, url: str) -> int:
        """How long a file is, in bytes.

        Raises:
            FetchError: the server does not say.
        """
        return header_length(url, self.head(url).get("content-length", ""))

    def persist(self, work: Callable[[], T], gained: Callable[[], int] | None = None) -> T:
        """What `work` gives, tried again with growing pauses as long as faults may pass.

        Args:
            gained: how much there is by now; when that grew, the count of failures starts over.

        Raises:
            FetchError: it failed as often as is allowed, or a server wants to be left alone for longer than an hour.
        """
        failures, before = 0, gained() if gained else 0
        while True:
            try:
                return work()
            except Passing as fault:
                now = gained() if gained else 0
                failures = 1 if now > before else failures + 1
                before = max(before, now)
                gives_up = failures >= self.tries
                if gives_up or fault.wait > _LONGEST_WAIT:
                    hours = f": the server accepts no further request for {fault.wait / 3600:.1f} hours"
                    later = "later" if gives_up else "after that"
                    raise FetchError(
                        f"{fault}{f' ({failures} tries)' if gives_up else hours}",
                        hint=f"The downloaded data is kept. Run the same command again {later} to resume.",
                    ) from fault
                pause = max(fault.wait, min(_FIRST_PAUSE * 2.0 ** (failures - 1), _LONGEST_PAUSE))
                self.notify(f"{fault}; trying again in {pause:.0f} s")
                self.sleep(pause)

    def _own(self, host: str | None) -> bool:
        return names_local_server(host) or (host is not None and host == self._trusted)

    def _permitted(self, url: str, first: str | None) -> SplitResult:
        """The parts of an address that may be asked on the way that began at the host `first`.

        Raises:
            FetchError: it may not.
        """
        parts = checked_url(url)
        if self._own(parts.hostname):
            if parts.hostname != first:
                raise FetchError(f"a redirect leads to {_host(url)}, which is not a public address: refused")
        elif parts.scheme != "https":
            raise FetchError(
                f"{shown(url)} is not encrypted: refused",
                hint="Use an address that begins with https://, or name the server with --base-url.",
            )
        return parts

    def _client(self, parts: SplitResult) -> httpx.Client:
        proxied = self.use_proxy and not names_private(parts.hostname)  # a proxy knows nothing of this machine
        if proxied not in self._clients:
            self._clients[proxied] = httpx.Client(
                headers={"user-agent": user_agent(self.contact), "accept-encoding": "gzip"},
                timeout=self.timeout,
                limits=httpx.Limits(max_connections=1),
                follow_redirects=False,
                verify=_certificates(),
                trust_env=proxied,
                transport=None if proxied else self._transport,
            )
        return self._clients[proxied]


@cache
def _certificates() -> ssl.SSLContext:
    """Read once: it takes longer than many a request."""
    return httpx.create_ssl_context()


def user_agent(contact: str = "") -> str:
    """Who asks, in the form of Wikimedia's policy on user agents: the program (whom to reach) the library."""
    about = contact or "an offline assistant; no contact given"
    return f"atomr-local/{__version__} ({about}) python-httpx/{httpx.__version__} Python/{platform.python_version()}"


def checked_url(url: str) -> SplitResult:
    """The parts of an address that may be asked.

    Raises:
        FetchError: it is not plain http or https, or carries a user name.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or not url.isascii() or any(character <= " " for character in url):
        raise FetchError(
            f"{shown(url)!r} is not an address that can be downloaded from", hint="It begins with https:// or http://."
        )
    return parts


def shown(url: str) -> str:
    """An address for the user: without a user's name, and without its query, which may hold a signature."""
    return sanitize_line(shown_url(url).partition("?")[0])[:_SHOWN]


def header_length(url: str, text: str) -> int:
    """A length from a header, in bytes.

    Raises:
        FetchError: it is none.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise FetchError(f"{shown(url)}: the server does not say how long it is")
    return int(text)


def retry_after(headers: httpx.Headers) -> float:
    """Seconds that the server asks to wait, 0 if it does not say."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        then = email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return max(0.0, then - time.time())


def _check_status(response: httpx.Response, url: str, accepted: Collection[int], has_contact: bool) -> None:
    status = response.status_code
    if status in accepted:
        return
    if status in _LATER:
        raise Passing(f"{_host(url)} answered with status {status}", retry_after(response.headers))
    kind = Missing if status in (404, 410) else FetchError
    hint = "Is the address right?" if status == 403 and has_contact else _HINTS.get(status, "Is the address right?")
    raise kind(f"{shown(url)}: the server answered with status {status}", hint=hint)


def redirected(url: str, response: httpx.Response, *, posted: bool) -> str:
    """Where a redirect leads.

    Raises:
        FetchError: to where it may not, or it answers what was posted.
    """
    location = str(response.headers.get("location", ""))
    try:
        target = urljoin(url, location)
    except ValueError:
        target = ""
    if posted or not location or not target:
        raise FetchError(f"{shown(url)}: a redirect that cannot be followed", hint="Is the address right?")
    new = checked_url(target)
    old = urlsplit(url)
    if new.scheme not in ("https", old.scheme):
        raise FetchError(f"{shown(url)} redirects to an address that is not encrypted, {shown(target)}: refused")
    if names_private(new.hostname) and new.hostname != old.hostname:
        raise FetchError(f"{shown(url)} redirects to an address that is not public, {shown(target)}: refused")
    return target


def _host(url: str) -> str:
    return sanitize_line(urlsplit(url).netloc)[:_SHOWN]


def _words(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    if isinstance(error, httpx.ConnectError):
        return f"no connection ({sanitize_line(str(error))[:_SHOWN]})"
    return f"the connection broke ({sanitize_line(str(error))[:_SHOWN] or type(error).__name__})"
