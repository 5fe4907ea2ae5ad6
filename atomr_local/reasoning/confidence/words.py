"""Confidence in words."""

from __future__ import annotations

NOT_FOUND = "not found"
# Lowest confidence (calibrated, 0 to 1) for each word, highest first; "not sure" below all of them.
_LEVELS = ((0.8, "well supported"), (0.6, "probably"))
_LEAST = "not sure"
_SYMBOLS = {"well supported": "✓", "probably": "≈", _LEAST: "⚠"}
CONFIDENCE_WORDS = tuple(_SYMBOLS)


def confidence_word(confidence: float) -> str:
    """ "well supported", "probably" or "not sure"."""
    return next((word for least, word in _LEVELS if confidence >= least), _LEAST)


def confidence_levels() -> list[tuple[float, str, str]]:
    """Lowest confidence, word and sign of every level, the surest first."""
    return [(least, word, _SYMBOLS[word]) for least, word in (*_LEVELS, (0.0, _LEAST))]


def confidence_symbol(confidence: float) -> str:
    """A sign for the word, for where colour alone would tell it: "✓", "≈" or "⚠"."""
    return _SYMBOLS[confidence_word(confidence)]


def confidence_text(confidence: float | None) -> str:
    """Word and figure, such as "probably, confidence 0.71"; empty if the confidence is not known."""
    return "" if confidence is None else f"{confidence_word(confidence)}, confidence {confidence:.2f}"


def confidence_value(confidence: float) -> str:
    """Word and figure without the label: "probably, 0.71"."""
    return f"{confidence_word(confidence)}, {confidence:.2f}"


def status_word(status: str) -> str:
    """A trace's status for people: "not found" for "unknown", else the status itself."""
    return NOT_FOUND if status == "unknown" else status
