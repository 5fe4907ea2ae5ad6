"""The download screen: models, Wikipedias and Wikidata facts, with size, time, licence and host."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar
from urllib.parse import urlsplit

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.suggester import Suggester, SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, Label, OptionList, Select, Static
from textual.widgets.option_list import Option

from atomr_local.assistant.wishes import (
    WIKIDATA,
    ModelWish,
    Parameter,
    WikidataWish,
    WikipediaWish,
    command_of,
    parameters_of,
)
from atomr_local.errors import AtomrError, InputError
from atomr_local.fetching.estimates import duration, transfer_time, wikidata_slice
from atomr_local.indexing.builds.space import human_size
from atomr_local.indexing.store import STARTER, check_name, list_indexes
from atomr_local.models.catalog.offered import (
    DATA_HUB,
    DUMPS,
    FACTS_LICENCE,
    TEXT_LICENCE,
    Catalogue,
    OfferedModel,
    OfferedWikipedia,
    WikipediaKind,
    catalogue,
)
from atomr_local.settings.schema import load_settings
from atomr_local.sources.privacy import must_stay
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.jobs import Command
from atomr_local.tui.screens.dialogs import confirm, error_line
from atomr_local.tui.screens.library.forms import WishForm
from atomr_local.tui.widgets.status_line import SteadyFooter

# What would be downloaded: the command, its size, time, licence and host. No widget in here.

ADDRESS, WIKIPEDIA, FACTS = "address", "wikipedia", "facts"


@dataclass(frozen=True)
class TextIndex:
    """A text index that facts can be fetched for; `site` is where its titles are known, such as simplewiki."""

    name: str
    articles: int
    site: str
    private: bool = False


@dataclass(frozen=True)
class Download:
    """A planned download: the command, and what is shown before it starts."""

    command: Command
    details: str
    host: str
    place: str


def plan_download(chosen: str, given: Mapping[str, str], offers: Catalogue, indexes: Sequence[TextIndex]) -> Download:
    """The planned download.

    Args:
        chosen: the name of a model, or ADDRESS, WIKIPEDIA or FACTS.
        given: what is entered, by the field of the wish.
        indexes: the text indexes that facts can be fetched for.

    Raises:
        InputError: something is missing or not usable.
    """
    if chosen == ADDRESS:
        return _address(given["name"])
    if chosen == WIKIPEDIA:
        return _wikipedia(given, offers.wikipedia)
    if chosen == FACTS:
        return _facts(given, indexes)
    model = next((item for item in offers.model if item.name == chosen), None)
    if model is None:
        raise InputError("nothing is chosen", hint="Choose something in the list.")
    details = f"{model.about} About {human_size(model.size)}: {transfer_time(model.size)}. Licence: {model.licence}."
    if at_hand(model):
        details += " ✓ Already downloaded. Getting it again compares it with the server."
    command = Command(f"get {model.name}", command_of(ModelWish, name=model.name, yes=True))
    return Download(command, details, _host(model.url(offers.hub)), str(paths.models_dir()))


def at_hand(model: OfferedModel) -> bool:
    """Whether the model was fetched before."""
    return (paths.models_dir() / f"{model.name}.gguf").exists()


def _address(url: str) -> Download:
    host = _host(url)
    if not url.startswith(("https://", "http://")) or not host:
        raise InputError("no address of a file is given", hint="It begins with https://.")
    details = "Its size is shown when the download starts. See its page for the licence."
    command = Command("get a model", command_of(ModelWish, name=url, yes=True))
    return Download(command, details, host, str(paths.models_dir()))


def _wikipedia(given: Mapping[str, str], offered: Sequence[OfferedWikipedia]) -> Download:
    wikipedia = _in_language(given["language"].lower(), offered)
    language, articles, limit = wikipedia.language, wikipedia.articles, _limit(given["limit"])
    name = check_name(given["build"] or f"wikipedia-{language}")
    kind: WikipediaKind = "dump" if given["kind"] == "dump" else "parquet"
    size = wikipedia.download_bytes(kind, limit)
    part = {"limit": limit, "max_size": size} if limit is not None and limit < articles else {}
    command = command_of(
        WikipediaWish, language=language, kind=kind, build=name, contact=given.get("contact", ""), yes=True, **part
    )
    about = f"{wikipedia.name}, {min(limit or articles, articles):,} articles."
    if wikipedia not in offered:
        count = f"{limit:,}" if limit else "all"
        about = f"{wikipedia.name}, {count} articles. Its size is not known; the largest one is assumed."
    details = (
        f"{about} At most "
        f"{human_size(size)} to fetch: {transfer_time(size)}. The index {name}: about "
        f"{human_size(wikipedia.index_bytes(limit))}, built in about {duration(wikipedia.build_seconds(limit))} "
        f"on two cores; it resumes if you stop it. Licence: {TEXT_LICENCE}."
    )
    return _from_wikimedia(
        f"get the {wikipedia.name} Wikipedia", command, details, DUMPS if kind == "dump" else DATA_HUB
    )


def _in_language(entered: str, offered: Sequence[OfferedWikipedia]) -> OfferedWikipedia:
    """The one in this language, by its code or its name; as large as the largest where it is not offered.

    Raises:
        InputError: that is not a language code.
    """
    for item in offered:
        if entered in {item.language, item.name.lower()}:
            return item
    from atomr_local.fetching.download import LANGUAGE

    if not LANGUAGE.fullmatch(entered) or not offered:
        raise InputError(
            f"{entered!r} is not a language code" if entered else "no language is entered",
            hint="Enter what stands before .wikipedia.org, such as simple, en or zh-yue.",
        )
    largest = max(offered, key=lambda item: item.articles)
    return largest.model_copy(update={"language": entered, "name": entered})


def _facts(given: Mapping[str, str], indexes: Sequence[TextIndex]) -> Download:
    index = next((item for item in indexes if item.name == given["text_index"]), None)
    if index is None:
        raise InputError("there is no text index to fetch facts for", hint="Get a Wikipedia first, or build one.")
    if index.private:
        raise InputError(
            f"the index {index.name} is private, and the titles of its articles would go to {_host(WIKIDATA)}",
            hint="Press P on it in the library if it is not private. To send them all the same: "
            f"atomr fetch wikidata --text-index {index.name} --share-private",
        )
    from atomr_local.fetching.download import SITE

    site = given["site"].lower()
    if not SITE.fullmatch(site):
        raise InputError(
            f"{site!r} is not a Wikipedia that Wikidata knows",
            hint="Its language and wiki, such as simplewiki or enwiki.",
        )
    _, size, seconds = wikidata_slice(index.articles, index.articles)
    command = command_of(
        WikidataWish, text_index=index.name, site=site, build=index.name, contact=given.get("contact", ""), yes=True
    )
    details = (
        f"Facts about {index.articles:,} articles: about {human_size(size)} in {duration(seconds)}, asked for "
        f"politely, fifty at a time; then the graph index {index.name} is built. Licence: {FACTS_LICENCE}."
    )
    return _from_wikimedia(f"get facts for {index.name}", command, details, WIKIDATA)


def _from_wikimedia(title: str, command: tuple[str, ...], details: str, server: str) -> Download:
    place = f"{paths.downloads_dir()} and {paths.indexes_dir()}"
    return Download(Command(title, command), details, _host(server), place)


def _limit(entered: str) -> int | None:
    if not entered:
        return None
    if not (entered.isascii() and entered.isdecimal() and 0 < int(entered) < 10**9):
        raise InputError(f"{entered!r} is not a number of articles", hint="Such as 20000; empty: all.")
    return int(entered)


def _host(url: str) -> str:
    try:
        return sanitize_line(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def text_indexes() -> list[TextIndex]:
    """The whole text indexes but the starter's. It reads the disk: call it from a worker."""
    settings, found = load_settings(), []
    for entry in list_indexes():
        if (made := entry.manifest) is not None and entry.kind == "text" and entry.name != STARTER:
            site = site_of(" ".join(item.path for item in made.inputs))
            articles, private = int(made.counts.get("articles", 0)), must_stay(settings, entry.name)
            found.append(TextIndex(entry.name, articles, site, private))
    return found


def site_of(files: str) -> str:
    """The Wikipedia that files of these names are of, named as Wikimedia or this program names them; else the English.

    In Wikidata's words, such as simplewiki.
    """
    dump = re.search(r"\b([a-z][a-z_]{1,39}wiki)-\d{8}-", files)
    if dump is not None:
        return dump[1]
    parquet = re.search(r"\bwikipedia-\d{8}\.([a-z-]{2,38})-\d{5}-of-", files)
    return f"{parquet[1].replace('-', '_')}wiki" if parquet is not None else "enwiki"


# The form of each, by its rows, with fields of the wish.
_FORMS: dict[str, tuple[type[Any], tuple[tuple[str, ...], ...]]] = {
    ADDRESS: (ModelWish, (("name",),)),
    WIKIPEDIA: (WikipediaWish, (("language",), ("kind",), ("limit", "build"))),
    FACTS: (WikidataWish, (("text_index", "site"),)),
}
_KINDS = [(Text("plain text (parquet)"), "parquet"), (Text("the latest dump (wiki text)"), "dump")]
_ABOUT = "This download uses the network; the web switch does not change. Sizes and times are estimates."


class OfferList(OptionList):
    """Keeps what is highlighted in sight when it has less room: a form takes of it, or the terminal is made smaller."""

    def on_resize(self) -> None:
        self.scroll_to_highlight()


class FetchScreen(WishForm):
    COMPACT = True
    DEFAULT_CSS = """
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
    #form-error { height: auto; max-height: 6; border-top: solid $border-blurred; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", tooltip="Get nothing", id="fetch.close"),
        Binding("ctrl+s", "start", "Get it", tooltip="Ask once more, then fetch in the background",
                id="fetch.start"),
    ]  # fmt: skip

    def __init__(self, *, find: Callable[[], list[TextIndex]] | None = None) -> None:
        """Make the screen; `find` gives the text indexes available, and runs on a thread."""
        self._find = find or text_indexes
        self._indexes: list[TextIndex] = []
        self._broken: AtomrError | None = None
        self._offers = Catalogue.model_construct(hub="")
        try:
            self._offers = catalogue()
        except AtomrError as error:
            self._broken = error
        self._languages = [item.language for item in self._offers.wikipedia]
        first = {"language": self._languages[0], "site": f"{self._languages[0]}wiki"} if self._languages else {}
        super().__init__(WikipediaWish, "Get a model, a Wikipedia, facts", limit="20000", **first)

    def compose(self) -> ComposeResult:
        with Vertical(id="fetch") as body:
            body.border_title = self._heading
            yield Static(Text(_ABOUT), id="fetch-about")
            yield OfferList(*self._options(), id="fetch-list", markup=False)
            with VerticalScroll(id="fetch-forms", can_focus=False):
                for chosen, (wish, rows) in _FORMS.items():
                    with Vertical(id=f"fetch-{chosen}"):
                        for row in rows:
                            yield from self._row(wish, row)
                with Vertical(id="fetch-contact"):
                    yield from self._row(WikipediaWish, ("contact",))
            yield Static(id="form-error", markup=False)
        yield SteadyFooter()

    def _row(self, wish: type[Any], names: Sequence[str]) -> ComposeResult:
        fields = {one.name: one for one in parameters_of(wish)}
        made = [list(self.field(fields[name])) for name in names]
        if names[0] == "text_index":  # too long to stand beside it
            yield made[0].pop(0)
        yield Horizontal(*chain.from_iterable(made))

    def offered(self, one: Parameter) -> list[tuple[Text, str]] | None:
        return {"kind": _KINDS, "text_index": []}.get(one.name)

    def suggester(self, one: Parameter) -> Suggester | None:
        names = {"language": self._languages, "site": [f"{name}wiki" for name in self._languages]}.get(one.name)
        return SuggestFromList(names, case_sensitive=False) if names else None

    def field(self, one: Parameter) -> ComposeResult:
        if one.name == "language":
            yield Label(f"Language: {', '.join(self._languages)} or any other")
        yield from super().field(one)

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
        in_background(self, self._find, self._show_indexes, group="fetch")
        self._changed()

    @property
    def first(self) -> Widget:
        return self.query_one(OptionList)

    def _show_indexes(self, indexes: list[TextIndex]) -> None:
        self._indexes = indexes
        chooser = self.query_one("#form-text_index", Select)
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
            self.query_one(f"#fetch-{name}").display = name == chosen
        self.query_one("#fetch-contact").display = chosen in {WIKIPEDIA, FACTS}
        try:
            text = Text(sanitize_line(self._planned().details))
        except AtomrError as error:
            text = error_line(error)
        self.query_one("#form-error", Static).update(text)

    @on(Select.Changed, "#form-text_index")
    def _index_changed(self) -> None:
        index = next((item for item in self._indexes if item.name == self.value("text_index")), None)
        if index is not None:
            self.query_one("#form-site", Input).value = index.site

    @on(OptionList.OptionSelected)
    def _picked(self) -> None:
        if self._chosen in _FORMS:
            self.query_one(f"#form-{_FORMS[self._chosen][1][0][0]}").focus()
        else:
            self.action_start()

    def start(self) -> None:
        download = self._planned()
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
        _, rows = _FORMS.get(self._chosen, (None, ()))
        given = {name: self.value(name) or "" for name in (*chain.from_iterable(rows), "contact")}
        return plan_download(self._chosen, given, self._offers, self._indexes)
