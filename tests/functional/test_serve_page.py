"""The page of `atomr serve` in a real Chromium, on fake parts: what is seen, the keyboard, screen readers, attacks."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import RunningServer, Seen, chromium, opened, violations
from support.browser_world import ATTACK, QUESTION, World
from support.fake_parts import passages
from support.quoting_traces import closest_trace, quotation_trace, quoting_trace
from support.served_parts import Endless

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("mcp", reason="the extra serve is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")

from atomr_local.reasoning.trace.schema import Trace  # noqa: E402
from atomr_local.reasoning.trace.telling import computation_text, measures_text, warning_text  # noqa: E402
from atomr_local.server.app import Server  # noqa: E402
from atomr_local.server.options import ServeOptions  # noqa: E402
from atomr_local.sources.document_places import place_words  # noqa: E402
from atomr_local.system.credentials import Secret  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
expect: Any = sync_api.expect
TOKEN = "correct-horse-battery-staple"
PHONE = {"viewport": {"width": 390, "height": 844}}
Served = Callable[..., RunningServer]
Shown = Callable[..., tuple["Page", Seen]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with chromium() as found:
        yield found


@pytest.fixture
def serve() -> Iterator[Served]:
    """Makes a running server of a world: `serve(world, queue=…)`."""
    with ExitStack() as ending:

        def make(world: World, **options: Any) -> RunningServer:
            made = RunningServer(Server(world.assistant, ServeOptions(**({"grace_seconds": 0.1} | options))))
            ending.callback(world.assistant.close)
            ending.callback(made.stop)
            return made

        yield make


@pytest.fixture
def show(browser: Browser) -> Iterator[Shown]:
    """Opens a page: `show(address, color_scheme=…)`."""
    with ExitStack() as ending:
        yield lambda address, **options: ending.enter_context(opened(browser, address, **options))


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def page(world: World, serve: Served, show: Shown) -> Page:
    return show(serve(world).address)[0]


def ask(page: Page, question: str = QUESTION, *, ended: bool = True) -> None:
    box = page.get_by_label("Question", exact=True)
    box.fill(question)
    box.press("Enter")
    if ended:
        expect(page.get_by_role("button", name="Save as JSON")).to_be_visible()
        expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()


def ask_endless(page: Page, backbone: Endless) -> None:
    """Ask a question that the model works on until it is stopped."""
    ask(page, ended=False)
    assert backbone.begun.wait(60), page.locator("body").inner_text()


def row(page: Page, step: int) -> Any:
    return page.locator(f"#row-{step}")


def chosen(page: Page) -> Any:
    return page.locator("[role=treeitem][aria-selected=true]")


# What is seen.


def test_the_tree_grows_and_the_evidence_stands_beside_the_step(world: World, page: Page) -> None:
    expect(page.get_by_role("heading", name="Ask a question")).to_be_visible()
    world.text.gate.clear()
    ask(page, ended=False)
    expect(row(page, 4)).to_contain_text("Fritz Lang")
    expect(page.locator("#step-2")).to_have_attribute("data-state", "retrieving")
    expect(row(page, 2)).to_contain_text("Where was Fritz Lang born?")
    expect(page.locator("#step-0")).to_have_attribute("data-state", "waiting")
    expect(page.locator("#answer")).to_be_hidden()
    expect(page.locator("#progress")).to_contain_text("Step 2: looks in text")
    row(page, 4).click()  # while the question runs
    expect(page.locator("#evidence-title")).to_contain_text("Step 4 (Relate): Who directed Metropolis?")
    expect(page.locator("#piece-e2")).to_contain_text("Metropolis director: Fritz Lang.")
    expect(page.get_by_role("button", name="Edit step")).to_have_count(0)
    world.text.gate.set()
    expect(page.locator("#answer-body")).to_contain_text("The answer is Vienna. [e3] ✓ well supported")
    expect(page.locator("#progress")).to_have_text("Answer: Vienna (well supported)")
    expect(chosen(page)).to_have_attribute("data-step", "4")  # the growing tree leaves the cursor where it was
    tree, evidence = page.locator("#reasoning").bounding_box(), page.locator("#evidence").bounding_box()
    assert tree is not None and evidence is not None
    assert evidence["x"] >= tree["x"] + tree["width"]
    assert abs(evidence["y"] - tree["y"]) < 200


def test_a_citation_leads_to_its_evidence_with_the_sentence_marked(page: Page) -> None:
    ask(page)
    row(page, 4).click()
    expect(page.locator("#piece-e3")).to_have_count(0)
    page.get_by_role("button", name=re.compile("^Evidence e3: Fritz Lang")).click()
    piece = page.locator("#piece-e3")
    expect(piece).to_be_focused()
    expect(piece.locator("mark")).to_have_text(re.compile("^He was born in Vienna in 1890. ?$"))
    expect(piece.locator("mark strong")).to_have_text("Vienna")
    piece.get_by_role("button", name="step 2").click()
    expect(page.locator("#step-2")).to_be_focused()


def test_an_address_leads_to_the_evidence_of_an_answer(world: World, serve: Served, show: Shown) -> None:
    """As citations do that other programs are given."""
    address = serve(world).address
    page, _ = show(address)
    ask(page)
    expect(page).to_have_url(re.compile("#trace=[0-9A-Za-z]+$"))
    identifier = page.url.partition("#trace=")[2]
    again, _ = show(address)
    again.goto(f"{address}/#trace={identifier}&evidence=e3")
    expect(again.locator("#answer-body")).to_contain_text("The answer is Vienna.")
    expect(again.locator("#piece-e3")).to_be_focused()
    again.goto(f"{address}/#trace={identifier}&evidence=e99")
    again.goto(f"{address}/#trace={identifier}&evidence=e1/../e3")
    expect(again.locator("#answer-body")).to_contain_text("The answer is Vienna.")


def test_a_trace_is_opened_by_its_id(page: Page) -> None:
    ask(page)
    expect(page).to_have_url(re.compile("#trace=[0-9A-Za-z]+$"))
    identifier = page.url.partition("#trace=")[2]
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("button", name="History").click()
    dialog = page.get_by_role("dialog", name="History")
    dialog.get_by_role("searchbox").fill("0" * 32)
    dialog.get_by_role("searchbox").press("Enter")
    expect(dialog).to_contain_text("there is no such trace")
    dialog.get_by_role("searchbox").fill(identifier)
    dialog.get_by_role("searchbox").press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#answer-body")).to_contain_text("The answer is Vienna.")


def test_a_graph_query_is_shown_with_its_rows(page: Page) -> None:
    ask(page)
    row(page, 4).click()
    page.get_by_text("asked the graph for: Metropolis director").click()
    expect(page.get_by_role("group", name="Query of e2")).to_have_text("SELECT ?x {}")
    expect(page.get_by_role("table", name="Rows of e2")).to_contain_text("Fritz Lang")
    page.get_by_text("details", exact=True).click()
    expect(page.locator("#evidence")).to_contain_text("filled in: Who directed Metropolis?")


def test_what_is_not_found_says_why_and_shows_its_guess_only_when_asked(world: World, page: Page) -> None:
    world.text.found.clear()
    ask(page)
    expect(page.locator("#answer-body")).to_contain_text("? Not found.")
    expect(page.locator("#answer")).to_have_attribute("data-support", "lost")
    expect(page.locator("#answer-body li").first).to_be_visible()  # what to do about it
    expect(page.locator("#step-2")).to_have_attribute("data-state", "unknown")
    expect(page.locator("#progress")).to_have_text("Not found")


def test_who_somebody_was_is_one_step_with_its_page_and_can_be_run_again(
    world: World, serve: Served, show: Shown
) -> None:
    asked, page_text = "Who was Fritz Lang?", "Fritz Lang was a film director. He was born in Vienna."
    world.text.found |= dict.fromkeys(("Fritz Lang", asked), passages(("Fritz Lang", page_text)))
    page, seen = show(serve(world).address)
    ask(page, asked)
    expect(page.locator("#answer-body")).to_contain_text("Fritz Lang was a film director.")
    expect(page.locator("#answer-body")).to_contain_text("Rests on Fritz Lang (text).")
    expect(page.locator("#answer-body")).not_to_contain_text("⚠")
    expect(page.locator("[role=treeitem]")).to_have_count(1)
    row(page, 0).click()
    expect(page.locator("#piece-e1")).to_contain_text("He was born in Vienna.")
    assert not world.backbone.requests, "no model is asked"
    page.get_by_role("button", name="Edit plan").click()
    expect(page.locator("#plan-text")).to_have_value(f"0. {asked} = Answer(summary)")
    page.locator("#plan-text").press("End")
    page.get_by_role("dialog").get_by_role("button", name="Run").click()
    expect(page.locator("#answer-body")).to_contain_text("Fritz Lang was a film director.")
    expect(page.locator("#answer-body")).not_to_contain_text("⚠")
    assert len(seen.bodies("/api/ask")) == 2


def test_sources_and_strategy_are_those_chosen(world: World, serve: Served, show: Shown) -> None:
    page, seen = show(serve(world).address)
    page.get_by_role("checkbox", name="graph").uncheck()
    page.get_by_role("checkbox", name="Keep in the history").uncheck()
    expect(page.get_by_role("checkbox", name="web")).to_have_count(0)
    page.get_by_text("Strategy and indexes").click()
    expect(page.locator("#indexes")).to_have_text("No index is built.")
    page.get_by_label("Strategy", exact=True).select_option("rag")
    expect(page.locator("#strategy-summary")).to_contain_text("rag: retrieve once")
    world.text.found[QUESTION] = world.text.found["Fritz Lang place of birth"]
    ask(page)
    [body] = seen.bodies("/api/ask")
    assert (body["sources"], body["strategy"], body["keep"]) == (["text"], "rag", False)
    assert not world.graph.requests and world.text.requests
    expect(page.locator("#answer-body")).not_to_contain_text("broken down")  # the strategy makes no plan
    page.get_by_role("button", name="History").click()
    expect(page.locator("#history-told")).to_have_text("No question is kept yet.")


def test_a_part_of_the_text_index_is_asked(page: Page) -> None:
    page.get_by_text("Strategy and indexes").click()
    page.get_by_label("Only in").fill('hr/ "my notes" #policy')
    with page.expect_request("**/api/ask") as asked:
        ask(page, ended=False)
    assert asked.value.post_data_json["in"] == ["hr/", "my notes", "#policy"]
    expect(page.get_by_text("cannot be asked in a part (hr/, my notes, #policy)")).to_be_visible()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()  # the first one has ended
    page.get_by_label("Only in").fill("")
    with page.expect_request("**/api/ask") as asked:
        ask(page)
    assert "in" not in asked.value.post_data_json


def test_the_page_tells_while_the_model_is_loaded(world: World, serve: Served, show: Shown) -> None:
    world.assistant.parts.backbone = None
    page, _ = show(serve(world).address)
    expect(page.locator("#model")).to_have_text("starter: loading model")
    world.assistant.parts.backbone = world.backbone
    expect(page.locator("#model")).to_have_text("starter")


def test_a_page_in_the_background_asks_for_nothing(world: World, serve: Served, show: Shown) -> None:
    world.assistant.parts.backbone = None
    page, _ = show(serve(world).address)
    expect(page.locator("#model")).to_have_text("starter: loading model")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    seen = "(hidden) => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true}); %s }"
    page.evaluate(seen % "", True)
    page.wait_for_timeout(1000)  # what was under way
    asked.clear()
    page.wait_for_timeout(2000)  # more than there is between two looks
    assert not asked
    world.assistant.parts.backbone = world.backbone
    page.evaluate(seen % "document.dispatchEvent(new Event('visibilitychange'));", False)
    expect(page.locator("#model")).to_have_text("starter")


def test_the_theme_is_the_systems_until_another_is_chosen(page: Page) -> None:
    def background() -> str:
        return str(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))

    page.emulate_media(color_scheme="dark")
    dark = background()
    page.emulate_media(color_scheme="light")
    light = background()
    assert dark != light
    page.get_by_label("Theme").select_option("dark")
    assert background() == dark
    page.reload()
    assert background() == dark
    expect(page.get_by_label("Theme")).to_have_value("dark")


# Correcting, conversations, history.


def test_an_answer_of_the_users_takes_the_place_of_a_steps(world: World, serve: Served, show: Shown) -> None:
    page, seen = show(serve(world).address)
    ask(page)
    row(page, 4).click()
    page.get_by_role("button", name="Edit step: step 4").click()
    expect(page.get_by_role("dialog", name="Edit step 4")).to_contain_text("Now: Fritz Lang")
    page.get_by_label("Your answer").fill("Thea von Harbou")
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(page.locator("#step-4")).to_have_attribute("data-state", "given")
    expect(page.locator("#answer-body")).to_contain_text("✎ your answer to step 4")
    expect(row(page, 2)).to_contain_text("Where was Thea von Harbou born?")
    expect(page.locator("#step-3")).to_have_attribute("data-state", "kept")
    expect(chosen(page)).to_have_attribute("data-step", "4")
    _first, second = seen.bodies("/api/ask")
    assert second["revision"]["answers"] == {"4": ["Thea von Harbou"]}
    assert re.fullmatch("[0-9A-Za-z]+", second["revision"]["trace"])
    expect(page.locator("#conversation")).to_be_hidden()  # it is the same question


def test_a_step_is_run_again_with_other_sources_or_as_it_is(world: World, page: Page) -> None:
    ask(page)
    asked = len(world.graph.requests), len(world.text.requests)
    row(page, 2).click()
    page.get_by_role("button", name="Run again: step 2").click()
    expect(page.locator("#step-4")).to_have_attribute("data-state", "kept")
    expect(page.locator("#step-2")).to_have_attribute("data-state", "found")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    again = [request.query for request in (*world.graph.requests[asked[0] :], *world.text.requests[asked[1] :])]
    assert again == ["Fritz Lang place of birth"] * 2
    page.get_by_role("button", name="Edit step: step 2").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("checkbox", name="text").uncheck()
    dialog.get_by_role("checkbox", name="graph").uncheck()
    dialog.get_by_role("button", name="Run again").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Switch on at least one source")
    dialog.get_by_role("checkbox", name="graph").check()
    dialog.get_by_role("button", name="Run again").click()
    expect(page.locator("#step-2")).to_have_attribute("data-state", "unknown")  # only the text has it


def test_a_plan_that_cannot_be_run_is_not_lost(world: World, serve: Served, show: Shown) -> None:
    page, seen = show(serve(world).address)
    ask(page)
    row(page, 2).click()
    page.get_by_role("button", name="Edit step: step 2").click()
    dialog = page.get_by_role("dialog")
    line = page.get_by_label("The step in the plan")
    expect(line).to_have_value('Where was [1] born? = Relate([1], "place of birth")')
    line.fill("Where was [9] born? = Relate([9], ")
    dialog.get_by_role("button", name="Run again").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    expect(line).to_have_value("Where was [9] born? = Relate([9], ")
    line.fill('When was [1] born? = Relate([1], "date of birth")')
    dialog.get_by_role("button", name="Run again").click()
    expect(row(page, 2)).to_contain_text("When was Fritz Lang born?")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    page.get_by_role("button", name="Edit plan").click()
    plan = page.get_by_label("Plan", exact=True)
    expect(plan).to_have_value(re.compile("\n2. When was \\[1\\] born"))
    plan.fill("nonsense")
    page.get_by_role("dialog").get_by_role("button", name="Run").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("line 1")
    plan.fill('1. What is Metropolis? = Search("Metropolis", "film")')
    page.get_by_role("dialog").get_by_role("button", name="Run").click()
    expect(page.locator("[role=treeitem]")).to_have_count(2)
    assert seen.bodies("/api/ask")[-1]["plan"].startswith("1. What is Metropolis?")


def test_questions_follow_one_another_until_a_new_conversation(world: World, serve: Served, show: Shown) -> None:
    page, seen = show(serve(world).address)
    for _ in range(2):
        ask(page)
    expect(page.locator("#turns li")).to_have_count(2)
    first, second = seen.bodies("/api/ask")
    assert "earlier" not in first and len(second["earlier"]) == 1
    page.locator("#turns button").first.click()
    expect(page.locator("#turns li").first).to_have_attribute("aria-current", "true")
    expect(page.locator("#asked-question")).to_be_focused()
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#asked")).to_be_hidden()
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    ask(page)
    assert "earlier" not in seen.bodies("/api/ask")[-1]


def test_kept_questions_are_found_opened_saved_and_deleted(page: Page) -> None:
    ask(page)
    expect(page).to_have_url(re.compile("#trace=[0-9A-Za-z]+$"))
    page.reload()  # the address leads to the answer
    expect(page.locator("#answer-body")).to_contain_text("The answer is Vienna.")
    expect(page.locator("#step-4")).to_have_attribute("data-state", "found")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as Markdown").click()
    assert QUESTION in saved.value.path().read_text()
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("button", name="History").click()
    dialog = page.get_by_role("dialog", name="History")
    dialog.get_by_role("searchbox").fill("nothing like it")
    dialog.get_by_role("searchbox").press("Enter")
    expect(dialog).to_contain_text("No kept question has these words.")
    dialog.get_by_role("searchbox").fill("Metropolis")
    dialog.get_by_role("searchbox").press("Enter")
    expect(dialog).to_contain_text("1 question shown")
    dialog.locator(".entry").click()
    expect(dialog).to_be_hidden()
    expect(row(page, 2)).to_contain_text("Vienna")
    page.get_by_role("button", name="History").click()
    dialog.get_by_role("button", name="Delete: Where was").click()
    dialog.get_by_role("button", name="Delete for good?").click()
    expect(dialog.locator("#history-list li")).to_have_count(0)
    expect(dialog.get_by_role("searchbox")).to_be_focused()


# The keyboard and screen readers.


def test_all_is_done_with_the_keyboard_alone(page: Page) -> None:
    keys = page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(40):
            keys.press("Tab")
            if page.locator(f"{selector}:focus").count():
                return
        raise AssertionError(f"Tab does not lead to {selector}")

    expect(page.locator("#sources input").first).to_be_visible()
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the question")).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    keys.type(QUESTION)
    keys.press("Enter")
    expect(page.locator("#answer-body")).to_contain_text("Vienna")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    tab_to("[role=treeitem]")
    expect(page.locator("#step-0")).to_be_focused()
    for key, step in (
        ("ArrowDown", 1), ("ArrowRight", 3), ("ArrowDown", 4), ("ArrowDown", 2), ("ArrowDown", 2), ("Home", 0),
        ("ArrowUp", 0), ("End", 2), ("ArrowUp", 4), ("ArrowLeft", 1), ("ArrowLeft", 1), ("ArrowDown", 2), ("ArrowUp", 1),
    ):  # fmt: skip
        keys.press(key)
        expect(page.locator(f"#step-{step}")).to_be_focused()
        expect(page.locator("[role=treeitem][tabindex='0']")).to_have_count(1)
    expect(page.locator("#step-1")).to_have_attribute(
        "aria-expanded", "false"
    )  # folded by the second arrow to the left
    expect(row(page, 4)).to_be_hidden()
    keys.press("ArrowRight")
    expect(row(page, 4)).to_be_visible()
    keys.press("ArrowRight")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(page.locator("#evidence-title")).to_be_focused()
    expect(page.locator("#evidence-title")).to_contain_text("Step 4")
    tab_to("summary")
    keys.press("Enter")
    expect(page.get_by_role("group", name="Query of e2")).to_be_visible()
    page.locator("#step-4").focus()
    keys.press("e")
    expect(page.get_by_label("Your answer")).to_be_focused()
    keys.press("Escape")
    expect(page.locator("#step-4")).to_be_focused()
    keys.press("e")
    keys.type("Thea von Harbou")
    keys.press("Control+Enter")
    expect(page.locator("#step-4")).to_have_attribute("data-state", "given")


def test_a_screen_reader_is_told_what_each_line_is(page: Page) -> None:
    ask(page)
    tree = page.get_by_role("tree", name="Reasoning")
    item = tree.get_by_role(
        "treeitem",
        name=re.compile(r"^Step 4, found\. Relate Who directed Metropolis\? ?\. Fritz Lang ✓ well supported$"),
    )
    expect(item).to_have_attribute("aria-level", "3")
    expect(page.get_by_role("status").filter(has_text="Answer: Vienna")).to_be_attached()
    assert page.locator("#progress").get_attribute("role") == "status"
    assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])  # no colour depends on the width
def test_axe_finds_no_violation(scheme: str, width: int, world: World, serve: Served, show: Shown) -> None:
    page, _ = show(serve(world).address, color_scheme=scheme, viewport={"width": width, "height": 844})

    def check(state: str) -> None:
        assert not violations(page), state
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), (
            f"{state}: wider than the screen"
        )

    expect(page.locator("#sources input").first).to_be_visible()
    check("at the start")
    page.get_by_text("Strategy and indexes").click()
    world.text.gate.clear()
    ask(page, ended=False)
    expect(page.locator("#step-2")).to_have_attribute("data-state", "retrieving")
    check("while a question runs")
    world.text.gate.set()
    expect(page.get_by_role("button", name="Save as JSON")).to_be_visible()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    row(page, 4).click()
    for fold in page.locator("#evidence summary").all():
        fold.click()
    check("with an answer and its evidence")
    page.get_by_role("button", name="Edit step: step 4").click()
    check("with the dialog of a step")
    page.get_by_label("Your answer").fill("Thea von Harbou")
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(page.locator("#step-4")).to_have_attribute("data-state", "given")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    check("with a corrected answer")
    page.get_by_role("button", name="Edit plan").click()
    check("with the dialog of the plan")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="History").click()
    expect(page.locator("#history-list li").first).to_be_visible()
    check("with the history")
    page.keyboard.press("Escape")
    world.text.found.clear()
    page.get_by_role("button", name="New conversation").click()
    ask(page)
    check("with nothing found")


# Attacks, errors, the end.


def test_a_hostile_passage_is_text(page: Page) -> None:
    ask(page, f"{QUESTION} {ATTACK}")
    row(page, 2).click()
    expect(page.locator("#piece-e3 .text")).to_contain_text(ATTACK)
    expect(page.locator("#piece-e3 .head")).to_contain_text(f"Fritz Lang {ATTACK}")
    expect(page.locator("#asked-question")).to_contain_text(ATTACK)
    page.get_by_role("button", name="History").click()
    expect(page.locator("#history-list")).to_contain_text(ATTACK)
    page.keyboard.press("Escape")
    page.reload()
    expect(page.locator("#asked-question")).to_contain_text(ATTACK)
    assert page.title() == "atomr-local"
    assert page.locator("main img, main script, dialog img, dialog script").count() == 0
    assert page.evaluate(
        """async (addresses) => {
            const { link } = await import("/page/dom.js");
            return addresses.map((address) => link(address, "x").tagName);
        }""",
        [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "//evil.example",
            "",
            "https://example.org/a",
        ],
    ) == ["SPAN", "SPAN", "SPAN", "SPAN", "SPAN", "A"]


def test_markup_cannot_be_set_even_by_mistake(world: World, serve: Served, show: Shown) -> None:
    page, seen = show(serve(world).address)
    told = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'set'; } catch (error) { return error.name; } }"
    )
    assert told == "TypeError"  # trusted types: the policy allows none
    assert len(seen.problems) == 1 and "TrustedHTML" in seen.problems.pop()
    assert page.locator("main").count() == 1


@pytest.mark.parametrize("way", ["button", "key"])
def test_stop_cancels_the_question_on_the_server(way: str, serve: Served, show: Shown) -> None:
    backbone = Endless()
    page, _ = show(serve(World(backbone)).address)
    ask_endless(page, backbone)
    if way == "button":
        page.get_by_role("button", name="Stop").click()
    else:
        page.keyboard.press("Escape")
    assert backbone.stopped.wait(30)
    expect(page.locator("#progress")).to_have_text("Stopped.")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    expect(page.locator("#error")).to_be_empty()


def test_the_token_is_asked_for_and_kept_for_the_tab_only(world: World, serve: Served, show: Shown) -> None:
    page, seen = show(serve(world, token=Secret(TOKEN)).address)
    dialog = page.get_by_role("dialog", name="Token")
    expect(dialog).to_be_visible()
    assert not violations(page)
    expect(page.locator("#token-problem")).to_be_empty()
    page.locator("#token").fill("wrong-token-wrong-token")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("The token is wrong.")
    page.locator("#token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#sources input")).to_have_count(2)
    ask(page)
    page.reload()
    expect(page.locator("#answer-body")).to_contain_text("Vienna")
    assert TOKEN not in page.evaluate("() => JSON.stringify(localStorage) + document.cookie + location.href")
    assert TOKEN not in page.content()
    assert all(TOKEN not in request.url for request in seen.requests)


def test_without_the_token_the_page_says_so(world: World, serve: Served, show: Shown) -> None:
    page, _ = show(serve(world, token=Secret(TOKEN)).address)
    expect(page.get_by_role("dialog", name="Token")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert").filter(has_text="the token is missing or wrong")).to_be_visible()


def test_a_full_queue_is_told_with_the_time_to_wait(serve: Served, show: Shown) -> None:
    backbone = Endless()
    address = serve(World(backbone, llm={"parallel": 1}), queue=0).address
    busy, _ = show(address)
    ask_endless(busy, backbone)
    page, seen = show(address)
    ask(page, ended=False)
    alert = page.get_by_role("alert").filter(has_text="Too many requests")
    expect(alert).to_contain_text(re.compile(r"in \d+ s"))
    assert not violations(page)
    alert.get_by_role("button", name="Try again").click()
    expect(alert).to_be_visible()
    page.wait_for_timeout(200)
    assert len(seen.bodies("/api/ask")) == 2
    expect(page.get_by_label("Question", exact=True)).to_have_value(QUESTION)


def test_a_question_that_waits_says_how_many_are_before_it(serve: Served, show: Shown) -> None:
    backbone = Endless()
    address = serve(World(backbone, llm={"parallel": 1})).address
    busy, _ = show(address)
    ask_endless(busy, backbone)
    page, _ = show(address)
    ask(page, ended=False)
    expect(page.locator("#progress")).to_have_text("Waiting for its turn")


def test_a_question_that_takes_too_long_says_that_the_server_stopped_it(serve: Served, show: Shown) -> None:
    page, _ = show(serve(World(Endless()), question_seconds=1).address)
    ask(page, ended=False)
    expect(page.locator("#answer-body")).to_contain_text("⚠ Stopped: It took longer than 1 seconds.")


def test_a_server_that_goes_is_told(serve: Served, show: Shown) -> None:
    backbone = Endless()
    server = serve(World(backbone))
    page, _ = show(server.address)
    ask_endless(page, backbone)
    server.cut_off()
    expect(page.locator("#error")).to_contain_text("before the answer was there")
    server.stop()
    deadline = time.monotonic() + 30
    ask(page, ended=False)
    expect(page.locator("#error")).to_contain_text("The server cannot be reached.")
    assert time.monotonic() < deadline
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


# The words of the program.


def test_the_page_words_things_as_the_program_does(page: Page) -> None:
    computations = ["answer of [5]", "2010 > 2000", "tree: Vienna; direct: Linz"]
    warnings = ["the plan leaves out the film", "the evidence does not mention Lang", "no index has it"]
    signals = {"verify": 0.5, "link": 1.0, "steps": 3.0, "unheard": 1.0, "type_fit": 0.0}
    places: list[dict[str, Any]] = [
        {"file": "report.pdf", "page": 3, "heading": "Methods"}, {"file": "book.pdf", "page": [6, 7], "page_words": "pp. iv–v (6–7)"},
        {"file": "a.pptx", "slide": [2, 4]}, {"file": "b.csv", "cells": "A1:B2"},
        {"file": "talk.srt", "time": ["00:00:01", "00:00:07"]}, {"file": "_chat.txt", "message": "2026-03-12 18:04, Ann"},
        {"kind": "table", "table": 2, "table_rows": [3, 9], "section": "Isotopes"}, {"kind": "infobox"}, {"kind": "table", "table_rows": [1, 1]},
    ]  # fmt: skip
    told = page.evaluate(
        """async ([computations, warnings, signals, places]) => {
            const words = await import("/page/words.js");
            return [computations.map(words.computationText), warnings.map(words.warningText), words.measuresText(signals),
                places.map(words.placeText), [0.95, 0.8, 0.7, 0.3].map(words.sure)];
        }""",
        [computations, warnings, signals, places],
    )
    assert told == [
        [computation_text(text) for text in computations], [warning_text(text) for text in warnings], measures_text(signals),
        [place_words(place) for place in places],
        ["✓ well supported (0.95)", "✓ well supported (0.80)", "≈ probably (0.70)", "⚠ not sure (0.30)"],
    ]  # fmt: skip


def show_trace(page: Page, trace: Trace) -> Any:
    """The answer of a trace in the place of the one that the page shows."""
    page.evaluate(
        """async (trace) => {
            const { Question } = await import("/page/state.js");
            const { AnswerPane } = await import("/page/answer.js");
            new AnswerPane({ cite: (name) => { document.title = `to ${name}`; }, guess: () => {} }).show(Question.of(trace));
        }""",
        json.loads(json.dumps(trace.to_dict())),
    )
    return page.locator("#answer-body")


def test_an_answer_shows_the_passage_that_it_rests_on_or_the_closest_ones(page: Page) -> None:
    ask(page)
    body = show_trace(page, quoting_trace())
    expect(body.locator("blockquote mark")).to_have_text("Permits are paid in cash.")
    expect(body.locator("blockquote")).to_contain_text("Permits (permits.pdf, p. 4, Fees)")
    body = show_trace(page, quotation_trace())
    assert body.locator("blockquote").inner_text().splitlines() == ["Bring the following:", "passport", "two photos"]
    assert not violations(page)
    body = show_trace(page, closest_trace())
    expect(body.get_by_role("heading")).to_have_text("Not answered; closest in your documents")
    expect(body.locator("blockquote mark")).to_have_text(["Permits are paid in cash.", "Permits are nice."])
    expect(body.locator("li").first).to_have_text("Search the web too, if the server allows it.")
    expect(body).not_to_contain_text("--")
    assert not violations(page)
    body.get_by_role("button", name="Evidence e2").click()
    assert page.title() == "to e2"


def test_a_hostile_passage_in_the_answer_is_text_and_spans_count_signs(page: Page) -> None:
    ask(page)
    body = show_trace(page, closest_trace("\U0001f600" * 33 + ATTACK * 3, ATTACK))
    expect(body.locator("blockquote").first).to_contain_text(ATTACK)
    assert body.locator("img, script").count() == 0
    expect(body.locator("blockquote mark").first).to_have_text(("\U0001f600" * 33 + ATTACK)[33:58])
