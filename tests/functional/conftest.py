"""The pilot of the terminal UI waits for what there is to do."""

from support.tui.pauses import pauses_until_nothing_is_left

__all__ = ["pauses_until_nothing_is_left"]
