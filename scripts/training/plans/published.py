"""Plans from published decompositions and questions: MuSiQue, RuBQ and BREAK."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

from atomr_local.reasoning.planning.coverage import find_name
from training.files import Line
from training.plans.gold import ask
from training.plans.shorthand import valid_plan

_WH = re.compile(
    r"^(?:(?:in|on|at|of|from|to|by) )?(?:who(?:se|m)?|what|which|when|where|how(?: many| much)?)\b\s*"
    r"(?:(?:is|are|was|were|does|do|did|has|have|had|'s) )?(?:(?:the|a|an) )?",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:who|what|which|when|where|why|how)\b", re.IGNORECASE)
_VERBS = {"die", "died", "born", "from", "live", "lived", "located", "founded", "written", "play", "work", "built"}
_TAIL = re.compile(r"(?:\s+(?:of|in|on|at|to|for|by|from|the|is|are|was|were|who|what|did|does|do))+\s*$", re.I)


def capitals(question: str) -> str:
    """The longest run of capitalised words behind the first one; the whole question where there is none."""
    runs = re.findall(r"(?<!^)\b[A-Z0-9][\w'’.&-]*(?:(?: (?:of|the|and|de|in|for))* [A-Z0-9][\w'’.&-]*)*", question)
    return max(runs, key=len, default=question)


def relation_text(question: str) -> str:
    """What a step asks of its head, as a relation's wording: question words, names and references taken off."""
    text = re.sub(r"#\d+", " ", question)
    name = capitals(question)
    if name != question:
        text = text.replace(name, " ")
    text = _WH.sub("", " ".join(re.sub(r"[?\"“”]", " ", text).replace("'s", " ").split()))
    text = _TAIL.sub("", text)
    return " ".join(text.split()) or "description"


def musique_plan(record: Line) -> str | None:
    """The compact tree of a MuSiQue decomposition; None where a step cannot be written as an operation."""
    lines = []
    for number, step in enumerate(record["decomposition"], 1):
        asked = step["question"].strip()
        references = re.findall(r"#(\d+)", asked)
        if ">>" in asked:
            head, relation = (part.strip() for part in asked.split(">>", 1))
            if re.fullmatch(r"#\d+", head):
                argument, text = f"[{head[1:]}]", ask(relation, f"[{head[1:]}]")
            elif references:
                argument, text = f"[{references[0]}]", ask(relation, re.sub(r"#(\d+)", r"[\1]", head))
            else:
                argument, text = json.dumps(head, ensure_ascii=False), ask(relation, head)
        else:
            relation = relation_text(asked)
            text = re.sub(r"#(\d+)", r"[\1]", asked).replace(" ?", "?").replace(" 's", "'s")
            name = capitals(asked)
            argument = f"[{references[0]}]" if references else json.dumps(name, ensure_ascii=False)
            if not references and name == asked:
                return None
        if argument.startswith('"') and find_name(json.loads(argument), record["question"]) < 0:
            return None
        text = " ".join(text.replace('"', "'").replace("=", " ").split())
        relation = relation.replace('"', "'")[:60]
        relation = json.dumps(relation, ensure_ascii=False)
        lines.append(f"{number}. {text[:1].upper()}{text[1:]} = Relate({argument}, {relation})")
    return valid_plan("\n".join(lines), record["question"])


def rubq_plan(item: Line, labels: Line) -> str | None:
    """One look-up for a RuBQ question of one hop whose entity is named; None for others."""
    question, properties = item.get("question_eng", "").strip(), item.get("question_props") or []
    name = capitals(question)
    known = labels.get(properties[0].removeprefix("wdt:"), {}).get("label") if len(properties) == 1 else None
    readable = known is not None and name != question and not any(mark in question for mark in '"=[]\n')
    if item.get("tags") != ["1-hop"] or not readable:
        return None
    behind = question[question.find(name) + len(name) :].strip(" ?.!'").split()
    if behind and behind[0] not in _VERBS:  # "Loch ness": the name may go on in small letters
        return None
    name = name.strip("'")
    return valid_plan(f"1. {question} = Relate({json.dumps(name, ensure_ascii=False)}, {json.dumps(known)})", question)


def break_plan(row: dict[str, str]) -> str | None:
    """The tree of a BREAK decomposition that is a chain of look-ups and filters; None for others, and for steps that
    do not make a question."""
    question = row["question_text"].strip()
    operators = re.findall(r"'(\w+)'", row["operators"])
    parts = re.split(r"\s*;\s*return |^return ", row["decomposition"])
    steps = [re.sub(r"^the (?:the )?", "", " ".join(part.split())) for part in parts if part.strip()]
    if not set(operators) <= {"select", "project", "filter"} or len(steps) != len(operators):
        return None
    if len(steps) > 2 and re.fullmatch(r"names? of #\d", steps[-1]):
        steps, operators = steps[:-1], operators[:-1]
    lines = []
    for number, (step, operator) in enumerate(zip(steps, operators, strict=True), 1):
        references = re.findall(r"#(\d)", step)
        text = re.sub(r"#(\d)", r"[\1]", step)
        if operator == "filter":
            told = re.fullmatch(r"#\d (?:that|which|who) ((?:is|are|was|were|has|have|had|\w+(?:s|ed)) .+)", step)
            if told is None or len(references) != 1:
                return None
            asked = f"Which of [{references[0]}] {told[1]}?"
            call = f"Filter([{references[0]}], {json.dumps(told[1], ensure_ascii=False)})"
        elif _ASKS.match(step) or len(references) != (operator == "project"):
            return None
        else:
            name = capitals(f"return {step}")
            if operator == "select" and (not name[0].isalpha() or find_name(name, question) < 0):
                return None
            argument = json.dumps(name, ensure_ascii=False) if operator == "select" else f"[{references[0]}]"
            asked = f"What is the {text}?"
            call = f"Relate({argument}, {json.dumps(relation_text(f'the {step}')[4:], ensure_ascii=False)})"
        lines.append(f"{number}. {asked} = {call}")
    return valid_plan("\n".join(lines), question)


def published_plans(data: Path) -> Iterator[tuple[str, str, str]]:
    """(source, question, plan) of RuBQ's questions of one hop and of BREAK's chains over ComplexWebQuestions.

    BREAK's other parts stay out: those on HotpotQA are development questions of a set that we are measured on.
    """
    labels = json.loads((data / "kg" / "codex_relations_en.json").read_text("utf-8"))
    for name in ("RuBQ_2.0_dev.json", "rubq_1.0_test.json"):
        read = json.loads((data / "decomposition" / name).read_text("utf-8"))
        for item in read.get("dataset", read) if isinstance(read, dict) else read:
            if made := rubq_plan(item, labels):
                yield "rubq", item["question_eng"], made
    with (data / "decomposition" / "break_qdmr_high_level_dev.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["question_id"].startswith("CWQ_") and (made := break_plan(row)):
                yield "break", row["question_text"], made
