"""What can be got from the net: a model, a Wikipedia, a slice of Wikidata; each with size, time, licence and host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Footer, Input, Label, OptionList, Select, Static
from textual.widgets.option_list import Option

from atomr_local import paths
from atomr_local.catalog.offered import (
    DATA_HUB,
    DUMPS,
    FACTS_LICENCE,
    TEXT_LICENCE,
    WIKIDATA,
    OfferedModel,
    OfferedWikipedia,
    WikipediaKind,
    catalogue,
)
from atomr_local.errors import AtomrError, InputError
from atomr_local.fetching.estimates import duration, transfer_time, wikidata_slice
from atomr_local.indexing.space import human_size
from atomr_local.indexing.store import check_name
from atomr_local.sanitize import sanitize_line
from atomr_local.tui.screens.confirm import Confirm
from atomr_local.tui.screens.library.text_indexes import TextIndex, text_indexes
from atomr_local.tui.widgets.clean_input import CleanInput

_ADDRESS, _WIKIPEDIA, _FACTS = "address", "wikipedia", "facts"
_FORMS = (_ADDRESS, _WIKIPEDIA, _FACTS)
_TOLD = "It goes online for this once; the web switch stays as it is. Sizes and times are estimates."


@dataclass(frozen=True)
class Fetch:
    """A command of the program, and what to call it."""

    title: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What would be fetched: the command, and what is told about it before it starts."""

    fetch: Fetch
    told: str
    host: str
    place: str


class Offers(OptionList):
    """Keeps what is highlighted in sight when it has less room: a form takes of it, or the terminal is made smaller."""

    def on_resize(self) -> None:
        self.scroll_to_highlight()


class FetchScreen(ModalScreen[Fetch | None]):
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
    #fetch-told { height: auto; max-height: 6; border-top: solid $panel-lighten-2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", tooltip="Get nothing", id="fetch.close"),
        Binding("f5,ctrl+s", "start", "Get it", tooltip="Ask once more, then fetch in the background",
                id="fetch.start"),
    ]  # fmt: skip

    @dataclass
    class IndexesFound(Message):
        indexes: list[TextIndex]

    def __init__(self, *, find: Callable[[], list[TextIndex]] | None = None) -> None:
        """Make the screen; `find` gives the text indexes at hand, and runs on a thread."""
        super().__init__()
        self._find = find or text_indexes
        self._indexes: list[TextIndex] = []
        self._broken: AtomrError | None = None
        self._models: Sequence[OfferedModel] = ()
        self._wikipedias: Sequence[OfferedWikipedia] = ()
        self._hub = ""
        try:
            found = catalogue()
        except AtomrError as error:
            self._broken = error
        else:
            self._models, self._wikipedias, self._hub = found.model, found.wikipedia, found.hub

    def compose(self) -> ComposeResult:
        with Vertical(id="fetch") as body:
            body.border_title = "Get a model, a Wikipedia, facts"
            yield Static(Text(_TOLD), id="fetch-about")
            yield Offers(*self._options(), id="fetch-list", markup=False)
            with VerticalScroll(id="fetch-forms", can_focus=False):
                with Vertical(id="form-address"):
                    yield Label("Address of a GGUF file")
                    yield CleanInput(id="fetch-url", placeholder="https://…/model.gguf")
                with Vertical(id="form-wikipedia"):
                    with Horizontal():
                        codes = [item.language for item in self._wikipedias]
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
                        sites = [f"{item.language}wiki" for item in self._wikipedias]
                        yield CleanInput(sites[0] if sites else "", id="fetch-site", compact=True,
                                         suggester=SuggestFromList(sites, case_sensitive=False))  # fmt: skip
                with Horizontal(id="fetch-contact-row"):
                    yield Label("Your e-mail address or page, which Wikimedia asks for")
                    yield CleanInput(id="fetch-contact", placeholder="may be left out", compact=True)
            yield Static(id="fetch-told", markup=False)
        yield Footer(show_command_palette=False)

    def _options(self) -> list[Option]:
        options = []
        for item in self._models:
            line = Text(f"{item.name:<26}", "bold")
            line.append(f"{item.parameters:>5} {human_size(item.size):>8}  {item.licence}", "not bold")
            if _at_hand(item):
                line.append(" ✓", "bold green")
            options.append(Option(line, id=f"model-{item.name}"))
        others = (
            (_ADDRESS, "another model", "by the address of its file"),
            (_WIKIPEDIA, "a Wikipedia", f"articles to search and quote  {TEXT_LICENCE}"),
            (_FACTS, "facts of Wikidata", f"for the articles of a text index  {FACTS_LICENCE}"),
        )
        for name, title, about in others:
            line = Text(f"{title:<26}", "bold")
            line.append(about, "not bold")
            options.append(Option(line, id=name))
        return options

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self._look()
        self._changed()

    @work(thread=True, exit_on_error=False, group="fetch")
    def _look(self) -> None:
        self.post_message(self.IndexesFound(self._find()))

    @on(IndexesFound)
    def _found(self, message: IndexesFound) -> None:
        self._indexes = message.indexes
        chooser = self.query_one("#fetch-index", Select)
        named = [(Text(f"{sanitize_line(item.name)} ({item.articles:,})"), item.name) for item in self._indexes]
        chooser.set_options(named)
        if self._indexes:
            chooser.value = self._indexes[0].name

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
        self.query_one("#fetch-contact-row").display = chosen in {_WIKIPEDIA, _FACTS}
        try:
            told = Text(sanitize_line(self._plan().told))
        except AtomrError as error:
            told = _refused(error)
        self.query_one("#fetch-told", Static).update(told)

    @on(Select.Changed, "#fetch-index")
    def _index_changed(self) -> None:
        index = next((item for item in self._indexes if item.name == self._value("#fetch-index")), None)
        if index is not None:
            self.query_one("#fetch-site", Input).value = index.site

    @on(OptionList.OptionSelected)
    def _picked(self) -> None:
        fields = {_ADDRESS: "#fetch-url", _WIKIPEDIA: "#fetch-language", _FACTS: "#fetch-index"}
        if self._chosen in fields:
            self.query_one(fields[self._chosen]).focus()
        else:
            self.action_start()

    @on(Input.Submitted)
    def action_start(self) -> None:
        try:
            plan = self._plan()
        except AtomrError as error:
            self.query_one("#fetch-told", Static).update(_refused(error))
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.dismiss(plan.fetch)

        told = f"From {plan.host}, into {plan.place}.\n{plan.told}"
        self.app.push_screen(Confirm(f"Go online and {plan.fetch.title}?", told, yes="Get it", no="Not now"), answered)

    # What would be fetched

    def _plan(self) -> Plan:
        """What the form says.

        Raises:
            AtomrError: something is missing or not usable.
        """
        if self._broken is not None:
            raise self._broken
        chosen = self._chosen
        if chosen == _ADDRESS:
            return self._address_plan()
        if chosen == _WIKIPEDIA:
            return self._wikipedia_plan()
        if chosen == _FACTS:
            return self._facts_plan()
        model = next((item for item in self._models if f"model-{item.name}" == chosen), None)
        if model is None:
            raise InputError("nothing is chosen", hint="Choose something in the list.")
        told = f"{model.about} About {human_size(model.size)}: {transfer_time(model.size)}. Licence: {model.licence}."
        if _at_hand(model):
            told += " ✓ It is at hand: getting it again compares it with what the server has."
        command = ("models", "pull", model.name, "--yes")
        return Plan(Fetch(f"get {model.name}", command), told, _host(model.url(self._hub)), str(paths.models_dir()))

    def _address_plan(self) -> Plan:
        url = self._text("#fetch-url")
        host = _host(url)
        if not url.startswith(("https://", "http://")) or not host:
            raise InputError("no address of a file is given", hint="It begins with https://.")
        told = "Its size is told when it begins. Its licence is what its page says."
        return Plan(Fetch("get a model", ("models", "pull", url, "--yes")), told, host, str(paths.models_dir()))

    def _wikipedia_plan(self) -> Plan:
        wikipedia = self._wikipedia()
        language, known = wikipedia.language, wikipedia in self._wikipedias
        kind: WikipediaKind = "dump" if self._value("#fetch-kind") == "dump" else "parquet"
        limit = self._limit()
        name = check_name(self._text("#fetch-name") or f"wikipedia-{language}")
        size = wikipedia.download_bytes(kind, limit)
        command = ["fetch", "wikipedia", "--language", language, "--kind", kind, "--build", name, "--yes"]
        if limit is not None and limit < wikipedia.articles:
            command += ["--limit", str(limit), "--max-size", str(size)]
        about = f"{wikipedia.name}, {min(limit or wikipedia.articles, wikipedia.articles):,} articles."
        if not known:
            count = f"{limit:,}" if limit else "all"
            about = f"{wikipedia.name}, {count} articles. Its size is not known here; told as of the largest one."
        told = (
            f"{about} At most "
            f"{human_size(size)} to fetch: {transfer_time(size)}. The index {name}: about "
            f"{human_size(wikipedia.index_bytes(limit))}, built in about {duration(wikipedia.build_seconds(limit))} "
            f"on two cores; stopped, it goes on. Licence: {TEXT_LICENCE}."
        )
        host = _host(DUMPS if kind == "dump" else DATA_HUB)
        return Plan(
            Fetch(f"get the {wikipedia.name} Wikipedia", (*command, *self._contact())),
            told, host, f"{paths.downloads_dir()} and {paths.indexes_dir()}",
        )  # fmt: skip

    def _wikipedia(self) -> OfferedWikipedia:
        """The one in the language that is entered, by its code or its name; as large as the largest where not offered.

        Raises:
            InputError: that is no code of a language.
        """
        entered = self._text("#fetch-language").lower()
        for item in self._wikipedias:
            if entered in {item.language, item.name.lower()}:
                return item
        from atomr_local.fetching.wikipedia import LANGUAGE

        if not LANGUAGE.fullmatch(entered) or not self._wikipedias:
            raise InputError(
                f"{entered!r} is no code of a language" if entered else "no language is entered",
                hint="Enter what stands before .wikipedia.org, such as simple, en or zh-yue.",
            )
        largest = max(self._wikipedias, key=lambda item: item.articles)
        return largest.model_copy(update={"language": entered, "name": entered})

    def _facts_plan(self) -> Plan:
        index = next((item for item in self._indexes if item.name == self._value("#fetch-index")), None)
        if index is None:
            raise InputError("there is no text index to fetch facts for", hint="Get a Wikipedia first, or build one.")
        site = self._text("#fetch-site").lower()
        from atomr_local.fetching.wikipedia import SITE

        if not SITE.fullmatch(site):
            raise InputError(
                f"{site!r} is no Wikipedia that Wikidata knows",
                hint="Its language and wiki, such as simplewiki or enwiki.",
            )
        _, size, seconds = wikidata_slice(index.articles, index.articles)
        command = ["fetch", "wikidata", "--text-index", index.name, "--site", site,
                   "--build", index.name, "--yes"]  # fmt: skip
        told = (
            f"Facts about {index.articles:,} articles: about {human_size(size)} in {duration(seconds)}, asked for "
            f"politely, fifty at a time; then the graph index {index.name} is built. Licence: {FACTS_LICENCE}."
        )
        return Plan(
            Fetch(f"get facts for {index.name}", (*command, *self._contact())),
            told, _host(WIKIDATA), f"{paths.downloads_dir()} and {paths.indexes_dir()}",
        )  # fmt: skip

    def _limit(self) -> int | None:
        text = self._text("#fetch-limit")
        if not text:
            return None
        if not (text.isascii() and text.isdecimal() and 0 < int(text) < 10**9):
            raise InputError(f"{text!r} is no number of articles", hint="Such as 20000; empty: all.")
        return int(text)

    def _contact(self) -> tuple[str, ...]:
        contact = self._text("#fetch-contact")
        return ("--contact", contact) if contact else ()

    def _text(self, selector: str) -> str:
        return self.query_one(selector, Input).value.strip()

    def _value(self, selector: str) -> str:
        value = self.query_one(selector, Select).value
        return value if isinstance(value, str) else ""


def _at_hand(model: OfferedModel) -> bool:
    return (paths.models_dir() / f"{model.name}.gguf").exists()


def _host(url: str) -> str:
    try:
        return sanitize_line(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def _refused(error: AtomrError) -> Text:
    return Text(f"✗ {sanitize_line(error.message)}" + (f" → {sanitize_line(error.hint)}" if error.hint else ""), "red")
