"""What the tests of commands share."""

from support.command_line import atomr

__all__ = ["atomr"]
