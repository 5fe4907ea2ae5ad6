"""Subtitles and captions: what is said in sentences, with the time of each."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, Writer
from atomr_local.indexing.readers.documents.text_file import read_text

_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{2}[.,]\d{1,3})"
# SubRip and WebVTT; SBV of YouTube; Advanced SubStation; LRC of songs.
_CUE = re.compile(rf"\s*{_TIME}\s*(?:-->|,)\s*{_TIME}(?:[ \t].*)?\s*$")
_DIALOGUE = re.compile(rf"Dialogue:[^,]*,\s*{_TIME},\s*{_TIME},[^,]*,([^,]*),(?:[^,]*,){{4}}(.*)")
_SUNG = re.compile(r"\[(?:(\d+):)?(\d{1,3}):(\d{2}(?:[.:]\d{1,3})?)\](.*)")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,100})>")
_MARK = re.compile(r"</?(?:[a-zA-Z]|\d)[^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)\b")
_SPEAKER = re.compile(r"[-–>♪\[(]|[A-Z][\w .'-]{0,30}: ")
_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
_GAP = 8  # seconds without a cue that end a sentence
_PAUSE = 0.05
_LONGEST = 400  # characters of a sentence without an end, as captions made by machines are


def parse_subtitles(stream: BinaryIO) -> Document:
    """The cues joined to sentences, each at its time; a line that the next cue repeats is read once."""
    writer = Writer("time")
    words = ""
    places: list[tuple[int, int | str]] = []
    before: list[str] = []
    ended = 0.0
    for start, end, lines in _cues(read_text(stream).split("\n")):
        # Captions that roll show a line again, in the next cue, without a pause.
        said = [line for line in lines if start > ended + _PAUSE or line not in before]
        before = lines or before
        is_apart = start - ended > _GAP
        for text in said:
            full = _END.search(words) or is_apart or len(words) > _LONGEST or _SPEAKER.match(text)
            if words and full:
                writer.line(words, places)
                words, places = "", []
            is_apart = False
            seconds = int(start)
            place = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            if not words:
                writer.at(place)
            words = f"{words} {text}" if words else text
            places.append((len(words) - len(text), place))
        ended = max(end, start)
    writer.line(words, places)
    return writer.done()


def _cues(source: list[str]) -> Iterator[tuple[float, float, list[str]]]:
    """The seconds at which each begins and ends, and its lines without marks."""
    cue: re.Match[str] | None = None
    lines: list[str] = []
    for number, line in enumerate([*source, "NOTE"]):
        before = source[number - 1].strip() if number else ""
        if single := _DIALOGUE.match(line):
            name, text = single[7].strip(), single[8]
            yield _seconds(single, 1), _seconds(single, 4), _plain(f"{name}: {text}" if name else text)
        elif sung := _SUNG.match(line):
            yield _seconds(sung, 1), 0, _plain(sung[4])
        elif (next_ := _CUE.match(line)) or number == len(source) or (_BLOCK.match(line) and not before):
            if next_ and lines and before:
                lines.pop()  # the number or name of this cue
            if cue:
                yield _seconds(cue, 1), _seconds(cue, 4), _plain("\n".join(lines))
            cue, lines = next_, []
        else:
            lines.append(line)


def _seconds(found: re.Match[str], group: int) -> float:
    hours, minutes, seconds = found.group(group, group + 1, group + 2)
    return int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds.replace(",", ".").replace(":", "."))


def _plain(text: str) -> list[str]:
    text = html.unescape(_MARK.sub("", _VOICE.sub(r"\1: ", text.replace("\\N", "\n").replace("\\n", "\n"))))
    return [words for line in text.split("\n") if (words := " ".join(line.replace("\\h", " ").split()))]
