"""Learns `atomr_local/language/en/is_question.json`: question (or topic), nothing, or another language.

    python scripts/train_is_question.py --data ../shared/data

English: questions of SQuAD 2.0, NQ-open, CANARD, StrategyQA, SimpleQuestions and our own, titles and names of
training passages and triples, as written and in small letters, with typos. Other languages: our own sentences
(`language_data/other_languages.txt`) around names, QALD-10 in German, Russian and Chinese, RuBQ in Russian. Nothing:
our own greetings and keyboard noise. A fifth of each is held back (whole sentences of ours).
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from atomr_local.language.question_kind import features, pieces, small_talk
from training.files import QUESTIONS, ROOT, language_lines, read_lines
from training.models.linear import fit, write
from training.splits import held_back_articles

TARGET = ROOT / "atomr_local/language/en/is_question.json"
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# At most one held-back question or name in this many may be refused.
_REFUSED_OF = 1000
_FLOORS = {"nothing": 0.9, "language": 0.95}
_NEVER_REFUSED = {"questions", "names", "QALD-10 en"}


def english(data: Path) -> tuple[list[str], list[str]]:
    """(questions, titles and names)."""
    squad = read_lines(data / "reading/squad2_part.jsonl")
    titles = list(dict.fromkeys(str(row["title"]) for row in squad))
    shut = held_back_articles(squad)
    questions = [str(row["question"]) for row in squad if row["title"] not in shut]
    questions += [str(row["question"]) for row in read_lines(data / "queries/nq_open_dev.jsonl")] * 2
    for row in read_lines(data / "dialogue/canard_dev.jsonl"):
        questions += [str(row["question"]), str(row["rewrite"])]
    questions += [str(row["question"]) for row in read_lines(data / "decomposition/strategyqa_train.jsonl")]
    with (data / "decomposition/simplequestions_wikidata_train.tsv").open(encoding="utf-8") as stream:
        questions += [row[3] for row in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)][:6000]
    for text, kind in natural_questions():
        if kind not in ("nothing", "language"):
            questions += [text, text]
    for name in ("plans", "passages", "more"):
        questions += [str(row["question"]) for row in read_lines(QUESTIONS / f"{name}.jsonl")]
    names: list[str] = [title.replace("_", " ") for title in titles]
    for name in ("2wiki_train500", "hotpot_train100", "hotpot_train400", "musique_train100"):
        names += [str(row["title"]) for row in read_lines(data / f"qa/{name}_corpus.jsonl")]
    for row in read_lines(data / "kg/2wiki_train_triples.jsonl"):
        names += [str(row["s"]), str(row["o"])]
    return list(dict.fromkeys(questions)), list(dict.fromkeys(name for name in names if name and "&" not in name))


def natural_questions() -> Iterator[tuple[str, str]]:
    """(question, type of answer) of our own natural questions and dialogues, as typed; none of the development set."""
    for name in ("conversational", "described", "lists", "unanswerable", "dialogues"):
        for row in read_lines(QUESTIONS / f"{name}.jsonl"):
            for turn in row.get("turns") or [row]:
                yield str(turn["question"]), str((turn.get("expects") or {}).get("type", ""))


def noise(random_: random.Random) -> str:
    """What hands on a keyboard write without a thought."""
    kind = random_.randrange(6)
    if kind == 0:  # any letters
        words = ["".join(random_.choices(_LETTERS, k=random_.randint(5, 12))) for _ in range(random_.randint(1, 4))]
    elif kind == 1:  # keys beside each other
        words = []
        for _ in range(random_.randint(1, 3)):
            row = random_.choice(_KEYS)
            at = random_.randrange(len(row) - 3)
            run = row[at : at + random_.randint(4, 8)]
            words.append(run if random_.random() < 0.7 else run[::-1])
    elif kind == 2:  # hammering on a few keys
        row = random_.choice(("asdf", "jkl", "sdfg", "hjkl", "dfjk", "asdfjkl", "qwe", "zxc"))
        words = ["".join(random_.choices(row, k=random_.randint(5, 14))) for _ in range(random_.randint(1, 3))]
    elif kind == 3:  # consonants
        consonants = "bcdfghjklmnpqrstvwxz"
        words = ["".join(random_.choices(consonants, k=random_.randint(5, 10))) for _ in range(random_.randint(1, 3))]
    elif kind == 4:  # one key held down
        words = [random_.choice(_LETTERS) * random_.randint(4, 10) for _ in range(random_.randint(1, 2))]
    else:  # letters, digits and signs
        words = ["".join(random_.choices(_LETTERS + "0123456789;,./", k=random_.randint(5, 12))) for _ in range(2)]
    text = " ".join(words) + random_.choice(("", "", "", "?", "!"))
    return random_.choice((text, text, text, text.upper(), text.capitalize()))


def misspelt(text: str, random_: random.Random) -> str:
    """One or two slips of the finger."""
    letters = list(text)
    for _ in range(random_.randint(1, 2)):
        at = random_.randrange(max(len(letters) - 1, 1))
        slip = random_.randrange(3)
        if slip == 0 and at + 1 < len(letters):
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        elif slip == 1:
            letters[at : at + 1] = []
        else:
            letters.insert(at, random_.choice(_LETTERS))
    return "".join(letters) or text


def filled(template: str, names: list[str], random_: random.Random) -> str:
    while "{}" in template:
        template = template.replace("{}", random_.choice(names), 1)
    return template


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--most", type=int, default=9000, help="features kept")
    options = parser.parse_args()
    random_ = random.Random(7)
    train: list[tuple[str, str, float]] = []
    held: list[tuple[str, str, str]] = []

    def put(parts: list[str], label: str, group: str, weight: float = 1.0, variants: int = 1) -> None:
        """A fifth of the texts to the held-back ones; of the others also variants in small letters or misspelt."""
        for text in parts:
            if random_.random() < 0.2:
                held.append((text, label, group))
                continue
            train.append((text, label, weight))
            if variants and random_.random() < 0.5:
                train.append((text.casefold().rstrip("? ."), label, weight))
            if variants > 1 and random_.random() < 0.3:
                train.append((misspelt(text, random_), label, weight))

    questions, names = english(options.data)
    random_.shuffle(questions)
    put(questions[:28000], "question", "questions", variants=2)
    put(names, "question", "names", weight=2.0)
    short = [name for name in names if len(name.split()) < 5]
    topics = language_lines("topics.txt")
    train += [(topic, "question", 6.0) for topic in topics]
    templates = [line for line in language_lines("other_languages.txt") if not line.startswith("[")]
    for template in templates:
        away = random_.random() < 0.2
        for _ in range(8 if "{}" in template else 2):
            text = filled(template, short, random_)
            if away:
                held.append((text, "language", "our sentences"))
                continue
            train.append((text, "language", 4.0))
            train.append((text.casefold().strip("¿? ."), "language", 4.0))
    qald = json.loads((options.data / "decomposition/qald_10.json").read_text(encoding="utf-8"))["questions"]
    for language in ("de", "ru", "zh"):
        own = [q["string"] for item in qald for q in item["question"] if q["language"] == language]
        put(own, "language", f"QALD-10 {language}", weight=2.0)
    put([q["string"] for item in qald for q in item["question"] if q["language"] == "en"], "question", "QALD-10 en")
    for name in ("RuBQ_2.0_dev", "rubq_1.0_test"):
        rubq = json.loads((options.data / f"decomposition/{name}.json").read_text(encoding="utf-8"))
        put([str(row["question_text"]) for row in rubq][:400], "language", "RuBQ ru")
    # A closed class: all of them are learnt, none held back.
    for text in sorted(small_talk()):
        train += [(variant, "nothing", 1.5) for variant in (text, text.capitalize(), f"{text}!")]
    # Whoever mixes two languages is understood: an English question that opens in another, or ends in it.
    foreign = [template for template in templates if len(template.split()) > 2]
    long_ones = [question for question in questions if 4 < len(question.split()) < 12]
    for _ in range(700):
        other, own = (
            random_.choice(foreign).replace("{}", random_.choice(short)).split(),
            random_.choice(long_ones).split(),
        )
        size = random_.randint(1, 2)
        mixed = [*other[:size], *own[size:]] if random_.random() < 0.7 else [*own[:-size], *other[-size:]]
        put([" ".join(mixed)], "question", "mixed", weight=1.0, variants=0)
    train += [(text, kind, 2.0) for text, kind in natural_questions() if kind in ("nothing", "language")]
    # Short forms of names look like noise: any few letters are taken as one, alone and in a question.
    codes = ["".join(random_.choices(_LETTERS, k=random_.randint(2, 5))) for _ in range(2000)]
    put([code if len(code) < 4 else code.upper() for code in codes], "question", "codes", variants=0)
    asked = [q for q in questions if q.split()[-1].rstrip("?").isalpha() and 3 < len(q.split()) < 9][:2500]
    strange = [q.rsplit(maxsplit=1)[0] + " " + noise(random_).split()[0].rstrip("?!") for q in asked]
    put(strange, "question", "strange names", variants=1)
    put([noise(random_) for _ in range(8000)], "nothing", "noise", weight=2.0, variants=0)

    texts, labels, weights = zip(*train, strict=True)
    real = [text for text, label, _ in train if label != "nothing"]
    words = Counter(word.casefold() for text in real for word in re.findall(r"[^\W\d_]+", text))
    counts: Counter[str] = Counter()
    for word in words:  # each word once, however often it stands there
        counts.update(set(pieces(word, 3)))
    common = frozenset(piece for piece, count in counts.items() if count > 2 and piece.replace("_", "").isalpha())
    common = frozenset(piece for piece in common if max(piece) < "\u0250")

    def looked_at(text: str) -> list[str]:
        return list(features(text, common))

    model_data = fit(texts, labels, weights, looked_at, most=options.most, least_count=3)
    model_data["pieces"] = " ".join(sorted(common))
    model_data["options"] = {"least": {"nothing": 0.9, "language": 0.9}}
    model = write(model_data, TARGET, PROVENANCE)
    scored = [(label, group, text, model.probabilities(looked_at(text))) for text, label, group in held]
    least = {}
    for kind in ("nothing", "language"):
        wrong = sorted((found[kind] for _, group, _, found in scored if group in _NEVER_REFUSED), reverse=True)
        least[kind] = round(min(max(_FLOORS[kind], wrong[len(wrong) // _REFUSED_OF] + 0.01), 0.98), 3)
    model_data["options"] = {"least": least}
    write(model_data, TARGET, PROVENANCE)
    print(len(train), "texts,", len(model_data["weights"]), "features,", TARGET.stat().st_size, "bytes, least", least)
    groups = dict.fromkeys(group for _, group, _, _ in scored)
    for group in groups:
        own = [(label, text, found) for label, g, text, found in scored if g == group]
        answers = [next((k for k in least if found[k] >= least[k]), "question") for _, _, found in own]
        right = sum(answer == label for answer, (label, _, _) in zip(answers, own, strict=True))
        print(f"{group:16} {len(own):6} held back, {right / len(own):.4f} right", end="")
        wrong_ones = [text for answer, (label, text, _) in zip(answers, own, strict=True) if answer != label]
        print("  e.g.", wrong_ones[:6])


PROVENANCE = (
    "Learnt by scripts/train_is_question.py from SQuAD 2.0 and QALD-10 (CC BY-SA), NQ-open (CC BY-SA), CANARD (CC "
    "BY-SA), StrategyQA (MIT), SimpleQuestions-Wikidata (CC BY), RuBQ (CC BY-SA), titles of Wikipedia pages and our "
    "own sentences (scripts/language_data). Whole hundredths; see linear.py."
)
