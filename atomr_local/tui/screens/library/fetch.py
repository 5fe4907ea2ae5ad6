"""The download screen: models, Wikipedias and Wikidata facts, with size, time, licence and host."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Label, OptionList, Select, Static
from textual.widgets.option_list import Option

from atomr_local.catalog.offered import FACTS_LICENCE, TEXT_LICENCE, Catalogue, catalogue
from atomr_local.errors import AtomrError
from atomr_local.indexing.builds.space import human_size
from atomr_local.sanitize import sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.jobs import Command
from atomr_local.tui.screens.confirm import confirm
from atomr_local.tui.screens.error import error_line
from atomr_local.tui.screens.library.downloads import (
    ADDRESS,
    FACTS,
    WIKIPEDIA,
    Download,
    DownloadRequest,
    TextIndex,
    at_hand,
    plan_download,
    text_indexes,
)
from atomr_local.tui.widgets.bottom_line import SteadyFooter
from atomr_local.tui.widgets.clean_text import CleanInput

_FORMS = {ADDRESS: "#fetch-url", WIKIPEDIA: "#fetch-language", FACTS: "#fetch-index"}  # each with its first field
_ABOUT = "This download uses the network; the web switch does not change. Sizes and times are estimates."


class OfferList(OptionList):
    """Keeps what is highlighted in sight when it has less room: a form takes of it, or the terminal is made smaller."""

    def on_resize(self) -> None:
        self.scroll_to_highlight()


class FetchScreen(ModalScreen[Command | None]):
    DEFAULT_CSS = """
    FetchScreen { align: center middle; }
    #fetch { width: 100; max-width: 98%; height: 94%; max-height: 34; padding: 0 1; background: $surface;
        border: round $accent; }
    #fetch-about { color: $text-muted; height: auto; }
    #fetch-list { height: 1fr; min-height: 4; border: none; background: $surface; scrollbar-size-vertical: 1; }
    #fetch-forms { height: auto; max-height: 8; scrollbar-size-vertical: 1; }
    #fetch-forms Vertical { height: auto; }
    #fetch-forms Horizontal { height: auto; }
    #fetch-forms Label { color: $text-muted; width: auto; margin-right: 1; }
    #fetch-forms Input { width: 1fr; height: 1; border: none; background: $boost; margin-right: 2; }
    #fetch-forms Select { width: 1fr; margin-right: 2; }
    #fetch-details { height: auto; max-height: 6; border-top: solid $border-blurred; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", tooltip="Get nothing", id="fetch.close"),
        Binding("ctrl+s", "start", "Get it", tooltip="Ask once more, then fetch in the background",
                id="fetch.start"),
    ]  # fmt: skip

    def __init__(self, *, find: Callable[[], list[TextIndex]] | None = None) -> None:
        """Make the screen; `find` gives the text indexes available, and runs on a thread."""
        super().__init__()
        self._find = find or text_indexes
        self._indexes: list[TextIndex] = []
        self._broken: AtomrError | None = None
        self._offers = Catalogue.model_construct(hub="")
        try:
            self._offers = catalogue()
        except AtomrError as error:
            self._broken = error

    def compose(self) -> ComposeResult:
        with Vertical(id="fetch") as body:
            body.border_title = "Get a model, a Wikipedia, facts"
            yield Static(Text(_ABOUT), id="fetch-about")
            yield OfferList(*self._options(), id="fetch-list", markup=False)
            with VerticalScroll(id="fetch-forms", can_focus=False):
                with Vertical(id="form-address"):
                    yield Label("Address of a GGUF file")
                    yield CleanInput(id="fetch-url", placeholder="https://…/model.gguf")
                with Vertical(id="form-wikipedia"):
                    with Horizontal():
                        codes = [item.language for item in self._offers.wikipedia]
                        yield Label(f"Language: {', '.join(codes)} or any other")
                        yield CleanInput(codes[0] if codes else "", id="fetch-language", compact=True,
                                         suggester=SuggestFromList(codes, case_sensitive=False))  # fmt: skip
                    kinds = [("plain text (parquet)", "parquet"), ("the latest dump (wiki text)", "dump")]
                    yield Select(kinds, value="parquet", id="fetch-kind", allow_blank=False, compact=True)
                    with Horizontal():
                        yield Label("At most … articles")
                        yield CleanInput("20000", id="fetch-limit", type="integer", placeholder="all", compact=True)
                        yield Label("Name")
                        yield CleanInput(id="fetch-name", placeholder="of the index", compact=True)
                with Vertical(id="form-facts"):
                    yield Label("About the articles of this text index; the site their titles are of")
                    with Horizontal():
                        yield Select([], prompt="no text index is there", id="fetch-index", compact=True)
                        sites = [f"{item.language}wiki" for item in self._offers.wikipedia]
                        yield CleanInput(sites[0] if sites else "", id="fetch-site", compact=True,
                                         suggester=SuggestFromList(sites, case_sensitive=False))  # fmt: skip
                with Horizontal(id="fetch-contact-row"):
                    yield Label("Your e-mail address or page, which Wikimedia asks for")
                    yield CleanInput(id="fetch-contact", placeholder="may be left out", compact=True)
            yield Static(id="fetch-details", markup=False)
        yield SteadyFooter()

    def _options(self) -> list[Option]:
        options = []
        for item in self._offers.model:
            line = Text(f"{item.name:<26}", "bold")
            line.append(f"{item.parameters:>5} {human_size(item.size):>8}  {item.licence}", "not bold")
            if at_hand(item):
                line.append(" ✓", "bold green")
            options.append(Option(line, id=item.name))
        others = (
            (ADDRESS, "another model", "by the address of its file"),
            (WIKIPEDIA, "a Wikipedia", f"articles to search and quote  {TEXT_LICENCE}"),
            (FACTS, "facts of Wikidata", f"for the articles of a text index  {FACTS_LICENCE}"),
        )
        for name, title, about in others:
            line = Text(f"{title:<26}", "bold")
            line.append(about, "not bold")
            options.append(Option(line, id=name))
        return options

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        in_background(self, self._find, self._show_indexes, group="fetch")
        self._changed()

    def _show_indexes(self, indexes: list[TextIndex]) -> None:
        self._indexes = indexes
        chooser = self.query_one("#fetch-index", Select)
        chooser.set_options([(Text(f"{sanitize_line(item.name)} ({item.articles:,})"), item.name) for item in indexes])
        if indexes:
            chooser.value = indexes[0].name

    @property
    def _chosen(self) -> str:
        options = self.query_one(OptionList)
        place = options.highlighted
        return str(options.get_option_at_index(place).id) if place is not None else ""

    @on(OptionList.OptionHighlighted)
    @on(Input.Changed)
    @on(Select.Changed)
    def _changed(self) -> None:
        """Show the form that belongs to what is chosen, and what it would take."""
        chosen = self._chosen
        for name in _FORMS:
            self.query_one(f"#form-{name}").display = name == chosen
        self.query_one("#fetch-contact-row").display = chosen in {WIKIPEDIA, FACTS}
        try:
            text = Text(sanitize_line(self._planned().details))
        except AtomrError as error:
            text = error_line(error)
        self.query_one("#fetch-details", Static).update(text)

    @on(Select.Changed, "#fetch-index")
    def _index_changed(self) -> None:
        index = next((item for item in self._indexes if item.name == self._value("#fetch-index")), None)
        if index is not None:
            self.query_one("#fetch-site", Input).value = index.site

    @on(OptionList.OptionSelected)
    def _picked(self) -> None:
        if self._chosen in _FORMS:
            self.query_one(_FORMS[self._chosen]).focus()
        else:
            self.action_start()

    @on(Input.Submitted)
    def action_start(self) -> None:
        try:
            download = self._planned()
        except AtomrError as error:
            self.query_one("#fetch-details", Static).update(error_line(error))
            return
        title = f"Go online and {download.command.title}?"
        text = f"From {download.host}, into {download.place}.\n{download.details}"
        confirm(self.app, title, text, lambda: self.dismiss(download.command), yes="Get it", no="Not now")

    def _planned(self) -> Download:
        """The planned download of the form.

        Raises:
            AtomrError: something is missing or not usable.
        """
        if self._broken is not None:
            raise self._broken
        request = DownloadRequest(
            self._chosen,
            url=self._text("#fetch-url"),
            language=self._text("#fetch-language"),
            kind="dump" if self._value("#fetch-kind") == "dump" else "parquet",
            limit=self._text("#fetch-limit"),
            name=self._text("#fetch-name"),
            index=self._value("#fetch-index"),
            site=self._text("#fetch-site"),
            contact=self._text("#fetch-contact"),
        )
        return plan_download(request, self._offers, self._indexes)

    def _text(self, selector: str) -> str:
        return self.query_one(selector, Input).value.strip()

    def _value(self, selector: str) -> str:
        value = self.query_one(selector, Select).value
        return value if isinstance(value, str) else ""
