"""Words of questions: those that say nothing by themselves, and what tells in prose what a word asks for."""

from __future__ import annotations

from atomr_local.language.words import english

STOP_WORDS = english().stop
TOLD_BY = english().told_by
