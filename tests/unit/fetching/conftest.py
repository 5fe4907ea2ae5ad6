"""What the tests of downloads share."""

from support.command_line import atomr
from support.faulty_server import no_waiting, server

__all__ = ["atomr", "no_waiting", "server"]
