from __future__ import annotations

from collections.abc import Sequence

from support.grammar_texts import allows

from atomr_local.reasoning.sparql.offer import END, Edge, Pieces, State, folded


def edges(state: State) -> Sequence[Edge]:
    """ "Ann or Bob and Bob", of one to three names."""
    if isinstance(state, int):
        return [Edge("Ann", ("after", state)), Edge("Bob", ("after", state))]
    assert isinstance(state, tuple)
    number = state[1]
    return [Edge("", END), Edge(" and ", number + 1), Edge(" or ", number + 1)] if number < 3 else [Edge("", END)]


def texts(pieces: Pieces, begun: Sequence[Edge] = ()) -> set[str]:
    found = set[str]()
    for edge in pieces.next(begun):
        path = [*begun, edge]
        found |= {"".join(one.text for one in path)} if edge.to is END else texts(pieces, path)
    return found


def gbnf(pieces: Pieces) -> str:
    rules = {"root": ""}
    pieces.grammar(rules, "root")
    return "\n".join(f"{name} ::= {body}" for name, body in rules.items())


ALL = texts(Pieces(1, edges))


def test_grammar_and_reading_know_the_same_texts() -> None:
    pieces = Pieces(1, edges)
    assert len(ALL) == 2 + 2 * 4 + 2 * 4 * 4
    grammar = gbnf(pieces)
    for text in [*ALL, "", "Ann ", "ann", "Ann and", "Ann and Bob or Ann and Bob", "Eve"]:
        assert allows(grammar, text) == (pieces.edges(text) is not None) == (text in ALL)
    assert pieces.longest == len("Ann and Bob and Ann")


def test_texts_that_are_left_out_are_in_neither() -> None:
    plain = Pieces(1, edges)
    left_out = {"Ann", "Ann and Bob", "Ann and Bob or Ann"}
    pieces = Pieces(1, edges, [plain.edges(text) or () for text in left_out])
    grammar = gbnf(pieces)
    assert texts(pieces) == ALL - left_out
    assert all(allows(grammar, text) == (text not in left_out) for text in ALL)


def test_where_all_is_left_out_nothing_is_left() -> None:
    one = Pieces("a", lambda _state: [Edge("Ann", END)])
    assert not one.empty and Pieces("a", lambda _state: [Edge("Ann", END)], [one.edges("Ann") or ()]).empty


def test_a_text_is_spelt_as_the_language_has_it() -> None:
    found = Pieces(1, edges).spelt("ann  OR bob")
    assert found is not None and "".join(edge.text for edge in found) == "Ann or Bob"
    assert Pieces(1, edges).spelt("Ann or Eve") is None
    assert folded("?x  |Born In| Rome ;  ?y") == "?x|born in|rome;?y"
