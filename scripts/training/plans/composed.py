"""Questions of several hops, composed of our own questions of one hop.

The subject of a question is put as a description: "What style of music does Dawn Penn sing?" becomes "What style of
music does the performer of Night Crawler sing?", and its plan gets a step more (MuSiQue composes its questions alike:
Trivedi et al., TACL 2022). Descriptions nest. What the composed question asks need not have an answer: it is for
learning to plan, where only its form counts.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Description:
    """A way to put a thing of one kind by another thing.

    Attributes:
        kind: of what is described.
        of: the kind of the other thing.
        phrase: how the question puts it; {} is the other thing.
        asked: the step that finds it; {} is the other thing or its reference.
        relation: the step's relation.
    """

    kind: str
    of: str
    phrase: str
    asked: str
    relation: str


def _table(text: str) -> tuple[Description, ...]:
    return tuple(Description(*(cell.strip() for cell in line.split("|"))) for line in text.strip().splitlines())


DESCRIPTIONS = _table("""
person | film | the director of {} | Who is the director of {}? | director
person | film | the man who directed {} | Who directed {}? | director
person | film | {}'s director | Who is the director of {}? | director
person | film | the screenwriter of {} | Who is the screenwriter of {}? | screenwriter
person | film | the star of {} | Who is the star of {}? | cast member
person | film | the actor who starred in {} | Which actor starred in {}? | cast member
person | film | the composer of the score of {} | Who composed the score of {}? | composer
person | film | the producer of {} | Who is the producer of {}? | producer
person | song | the performer of {} | Who is the performer of {}? | performer
person | song | the singer of {} | Who is the singer of {}? | performer
person | song | the {} performer | Who is the performer of {}? | performer
person | song | the artist who recorded {} | Which artist recorded {}? | performer
person | song | the writer of {} | Who is the writer of {}? | lyrics by
person | book | the author of {} | Who is the author of {}? | author
person | book | the person who wrote {} | Who wrote {}? | author
person | book | {}'s author | Who is the author of {}? | author
person | person | the spouse of {} | Who is the spouse of {}? | spouse
person | person | {}'s wife | Who is the wife of {}? | spouse
person | person | {}'s husband | Who is the husband of {}? | spouse
person | person | {}'s father | Who is the father of {}? | father
person | person | the mother of {} | Who is the mother of {}? | mother
person | person | the father of {} | Who is the father of {}? | father
person | person | {}'s son | Who is the son of {}? | child
person | person | the sibling of {} | Who is the sibling of {}? | sibling
person | person | the teacher of {} | Who was the teacher of {}? | student of
person | person | the person who influenced {} | Who influenced {}? | influenced by
person | organisation | the founder of {} | Who is the founder of {}? | founded by
person | organisation | the person who founded {} | Who founded {}? | founded by
person | organisation | {}'s founder | Who is the founder of {}? | founded by
person | organisation | the head of {} | Who is the head of {}? | chairperson
person | place | the mayor of {} | Who is the mayor of {}? | head of government
person | place | the person {} is named after | Who is {} named after? | named after
person | place | the ruler of {} | Who is the ruler of {}? | head of state
place | person | the birthplace of {} | Where was {} born? | place of birth
place | person | {}'s birthplace | Where was {} born? | place of birth
place | person | the city where {} was born | In which city was {} born? | place of birth
place | person | the city in which {} died | In which city did {} die? | place of death
place | person | the place where {} died | Where did {} die? | place of death
place | person | the country where {} was born | In which country was {} born? | country of birth
place | person | the country {} is a citizen of | Of which country is {} a citizen? | country of citizenship
place | person | {}'s home country | What is the home country of {}? | country of citizenship
place | person | the town where {} lived | In which town did {} live? | residence
place | person | the state where {} was born | In which state was {} born? | place of birth
place | person | the state {} grew up in | In which state did {} grow up? | residence
place | place | the country where {} is located | In which country is {}? | country
place | place | the country that contains {} | Which country contains {}? | country
place | place | the state where {} is located | In which state is {} located? | located in
place | place | the county where {} is located | In which county is {} located? | located in
place | place | the district {} is part of | Of which district is {} part? | located in
place | place | the capital of {} | What is the capital of {}? | capital
place | place | the country that borders {} to the north | Which country borders {} to the north? | shares border with
place | place | the state that borders {} | Which state borders {}? | shares border with
place | place | the continent {} lies on | On which continent does {} lie? | continent
place | place | the body of water by {} | By which body of water is {}? | located next to body of water
place | organisation | the city where {} is based | In which city is {} based? | headquarters location
place | organisation | the home city of {} | In which city are the headquarters of {}? | headquarters location
place | organisation | the country where {} was founded | In which country was {} founded? | country
place | organisation | the place where {} was formed | Where was {} formed? | location of formation
place | film | the country {} was made in | In which country was {} made? | country of origin
place | film | the place where {} is set | Where is {} set? | narrative location
place | film | the city where {} was filmed | In which city was {} filmed? | filming location
place | book | the place where {} takes place | Where does {} take place? | narrative location
organisation | person | the university that {} attended | Which university did {} attend? | educated at
organisation | person | {}'s alma mater | What is the alma mater of {}? | educated at
organisation | person | the team {} plays for | For which team does {} play? | member of sports team
organisation | person | {}'s team | What is the team of {}? | member of sports team
organisation | person | the company {} worked for | For which company did {} work? | employer
organisation | person | the band {} was a member of | Of which band was {} a member? | member of
organisation | person | the party {} belongs to | To which party does {} belong? | member of political party
organisation | song | the record label of {} | What is the record label of {}? | record label
organisation | song | the band that recorded {} | Which band recorded {}? | performer
organisation | film | the company that distributed {} | Which company distributed {}? | distributed by
organisation | film | the network that aired {} | Which network aired {}? | original broadcaster
organisation | book | the publisher of {} | Who is the publisher of {}? | publisher
organisation | organisation | the parent company of {} | What is the parent company of {}? | parent organization
organisation | place | the team that plays in {} | Which team plays in {}? | occupant
film | person | the film that {} directed | Which film did {} direct? | director of
film | person | the film in which {} made a first appearance | In which film did {} first appear? | film debut
film | organisation | the series that {} produced | Which series did {} produce? | producer of
book | person | the book {} is best known for | For which book is {} best known? | notable work
book | person | the novel written by {} | Which novel did {} write? | notable work
song | person | the album that {} released first | Which album did {} release first? | first album
song | organisation | the debut album of {} | What is the debut album of {}? | first album
""")
# What the first sentence of an article calls its subject, by kind.
_CALLED = {
    "film": "film movie sitcom miniseries series",
    "song": "song single album EP",
    "book": "novel book play poem comic",
    "person": "actor actress singer politician player footballer writer director musician poet king queen artist "
    "lawyer scientist historian coach composer",
    "organisation": "company university college school band club team organization organisation party agency magazine "
    "newspaper studio label network airline association institute",
    "place": "city town village county state country district province river lake island mountain municipality region "
    "township peninsula airport stadium",
}
_LIFE = re.compile(r"\bborn\b|\(\s*(?:c\. )?\d{3,4} ?[–-]")
# A description can stand behind these, and not behind "the actor".
_BEFORE = """
did does do was is are were has had have will would can could of in to by for at from that with on about and or the when
where who whom which what under into between before after near through against behind as than
"""


def kind_of(text: str) -> str | None:
    """What kind of thing an article is about, from its first sentence; None where that does not tell."""
    opening = text[:220]
    found = [(match.start(), "person") for match in [_LIFE.search(opening)] if match]
    for kind, words in _CALLED.items():
        match = re.search(rf"\b(?:{'|'.join(words.split())})\b", opening)
        found += [(match.start(), kind)] if match else []
    return min(found)[1] if found else None


def compose(
    question: str,
    subject: str,
    relation: str,
    kind: str,
    names: Mapping[str, Sequence[str]],
    hops: int,
    source: random.Random,
) -> tuple[str, str] | None:
    """A question of `hops` look-ups and its plan; None where it cannot be composed.

    Args:
        question: of one hop, with `subject` in it.
        kind: of the subject.
        names: kind → names of things of that kind.
    """
    place = question.find(subject)
    if place < 0 or question.count(subject) != 1 or hops < 2:
        return None
    if (words := question[:place].split()) and words[-1].casefold() not in _BEFORE.split():
        return None  # "the actor James Woods": a description cannot stand there
    chain: list[Description] = []
    wanted = kind
    for _ in range(hops - 1):
        fitting = [one for one in DESCRIPTIONS if one.kind == wanted]
        if not fitting:
            return None
        chain.append(source.choice(fitting))
        wanted = chain[-1].of
    if not names.get(wanted):
        return None
    name = source.choice(names[wanted])
    phrase = name
    lines = []
    for number, one in enumerate(reversed(chain), 1):
        known = name if number == 1 else f"[{number - 1}]"
        argument = json.dumps(name, ensure_ascii=False) if number == 1 else known
        lines.append(f"{number}. {one.asked.format(known)} = Relate({argument}, {json.dumps(one.relation)})")
        phrase = one.phrase.format(phrase)
    if place == 0:
        phrase = phrase[:1].upper() + phrase[1:]
    before = question[:place]
    if before.endswith(("the ", "The ")):  # "the Danube" is described whole
        before = before[:-4]
        phrase = phrase if before else phrase[:1].upper() + phrase[1:]
    asked = before + phrase + question[place + len(subject) :]
    step = question[:place] + f"[{hops - 1}]" + question[place + len(subject) :]
    lines.append(f"{hops}. {step} = Relate([{hops - 1}], {json.dumps(relation, ensure_ascii=False)})")
    return asked, "\n".join(lines)
