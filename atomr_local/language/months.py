"""Full names of months, and what stands before a year in a date that is written with them."""

from __future__ import annotations

from atomr_local.language.words import number_words

# Of the names of a month the longest: the others are abbreviations.
_LONGEST = {number: name for name, number in sorted(number_words().months.items(), key=lambda named: len(named[0]))}
MONTHS = tuple(_LONGEST[number].capitalize() for number in range(1, 13))
MONTH = f"(?:{'|'.join(MONTHS)})"
# "May", "3 May", "May 3," before a year.
DAY_AND_MONTH = rf"(?:\d{{1,2}} )?{MONTH}(?: \d{{1,2}},?)?"
