"""What all tests share: see support/isolation.py."""

from support.isolation import own_home, without_span_reader

__all__ = ["own_home", "without_span_reader"]
