"""What commands are asked for, declared once: each field of a class, or parameter of a function, is an option or an
argument with its help, and where a form of the terminal UI has it too, with its label there."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

import click

from atomr_local.system import paths

Wish = TypeVar("Wish")


@dataclass(frozen=True)
class Parameter:
    """How a field is given.

    Attributes:
        kind: the type of its value, without None and, of several values, of one.
        names: of the option, as in `click.option`; none: it is an argument.
        settings: what else click is told.
        parse: makes the value of the text, where that is not click's work; raises BadParameter.
        completes: what the shell offers for it, by its name in `cli/completion.py`.
        label: what a form calls it.
        example: what stands in the empty field of a form.
    """

    name: str
    kind: Any
    optional: bool
    several: bool
    names: tuple[str, ...]
    settings: dict[str, Any]
    parse: Callable[[str], Any] | None = None
    completes: str = ""
    label: str = ""
    example: str = ""

    def words(self, value: Any) -> list[str]:
        """The words of a command line that give the value."""
        values = value if self.several else [value]
        if not self.names:
            return [str(one) for one in values]
        name = self.names[-1]
        if self.kind is bool:
            return [name.split("/")[not value]] if value or self.optional else []
        return [f"{name}={one}" for one in values]


def option(help_text: str, *names: str, default: Any = None, **settings: Any) -> Any:
    """A field that is given as an option.

    What click is to make of it follows from the field where nothing is said: `--name` from its name; a flag, a choice,
    a path or a repeatable option from its type. A default other than nothing is shown.

    Args:
        settings: of `Parameter`, or as in `click.option`. What a callback makes of the text is the field's value.
    """
    settings = {"help": help_text, "show_default": bool(default)} | settings
    if default is not None and default is not False:
        settings["default"] = default
    made = settings.get("required") or "callback" in settings or "parse" in settings
    return field(default=MISSING if made else default, metadata={"names": names, "settings": settings})


def flag(help_text: str, *names: str, label: str = "") -> Any:
    """A field that is true where its option is given."""
    return option(help_text, *names, default=False, label=label)


def argument(**settings: Any) -> Any:
    """A field that is given as an argument; the settings are of `Parameter`, or as in `click.argument`."""
    return field(metadata={"names": None, "settings": settings})


@dataclass_transform(kw_only_default=True, field_specifiers=(option, flag, argument))
def parameters(model: type[Wish]) -> type[Wish]:
    """A class of parameters: a dataclass of the fields above, and of other such classes for all of theirs."""
    return dataclass(kw_only=True)(model)


def declared(form: Any) -> Iterator[tuple[str, Any, Any]]:
    """What a class of parameters, or a function in its signature, declares: name, type, and the field or nothing."""
    types = get_type_hints(form)
    if is_dataclass(form):
        yield from ((one.name, types[one.name], one) for one in fields(form))
    else:
        yield from ((name, types[name], one.default) for name, one in signature(form).parameters.items())


def parameters_of(form: Any) -> Iterator[Parameter]:
    """The parameters of a class or function, in the order of its fields; a class among them stands for its own."""
    for field_name, of_type, one in declared(form):
        kind = of_type
        if is_dataclass(kind):
            yield from parameters_of(kind)
            continue
        optional = get_origin(kind) in (Union, UnionType)
        if optional:
            (kind,) = (part for part in get_args(kind) if part is not NoneType)
        names, settings = one.metadata["names"], dict(one.metadata["settings"])
        several = get_origin(kind) is tuple and not settings.keys() & {"parse", "callback"}
        if names == ():
            long = field_name.strip("_").replace("_", "-")
            names = (f"--{long}/--no-{long}" if optional and kind is bool else f"--{long}",)
        own = {key: settings.pop(key) for key in ("parse", "completes", "label", "example") if key in settings}
        kind = get_args(kind)[0] if several else kind
        yield Parameter(field_name, kind, optional, several, names or (), settings, **own)


def command_of(model: type[Any], **given: Any) -> tuple[str, ...]:
    """The words of the command that a wish is for, `command` of its class, with these fields."""
    options, arguments = list[str](), list[str]()
    for one in parameters_of(model):
        if one.name in given and (value := given.pop(one.name)) not in (None, "", one.settings.get("default")):
            (options if one.names else arguments).extend(one.words(value))
    assert not given, f"{model.__name__} has no {', '.join(given)}"
    return (*model.command, *options, *(("--", *arguments) if arguments else ()))


# Texts that are more than texts.

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


class ArticleFormat(click.Choice[str]):
    """The formats that come with the program, and those of other packages, which only a name given here looks for."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices and value in self.offered():
            return value
        return super().convert(value, param, ctx)

    def offered(self) -> Sequence[str]:
        """All formats that there are."""
        from atomr_local.indexing.readers.detect import format_names

        return format_names()


class _Rate(click.FloatRange):
    """A range that holds no NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        rate: float = super().convert(value, param, ctx)
        if math.isnan(rate):
            self.fail(f"{value!r} is not a number of requests per second", param, ctx)
        return rate


def size_of(text: str) -> int:
    """Bytes: 500MB, 1.5 GB, 2000000; 0 where nothing is said.

    Raises:
        BadParameter: it is no size.
    """
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)b?", text.strip(), re.IGNORECASE | re.ASCII)
    if text and (match is None or not float(match[1])):
        raise click.BadParameter(f"{text!r} is not a size such as 500MB or 1.5GB")
    return int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0


def _matching(pattern: Literal["LANGUAGE", "DATE", "SITE"], what: str) -> Callable[[str], str]:
    """Checks the form of what is given, as downloads have it."""

    def checked(text: str) -> str:
        from atomr_local.fetching import download

        if text and not getattr(download, pattern).fullmatch(text):
            raise click.BadParameter(f"{text!r} is not a {what}")
        return text

    return checked


def _languages(text: str) -> list[str]:
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found or not all(re.fullmatch(r"[a-z]{2,12}(-[a-z0-9]{1,12})*", part) for part in found):
        raise click.BadParameter(f"{text!r} is not a list of languages such as en,de")
    return list(dict.fromkeys([*found, "mul"]))  # names that are the same in many languages stand there alone


def _digest(text: str) -> str:
    digest = text.strip().lower()
    if digest and not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise click.BadParameter("it is no SHA-256: 64 hexadecimal digits")
    return digest


# Indexes: built, and handed on.

_inputs = functools.partial(argument, metavar="INPUT...", required=True, example="→ completes")
_name = functools.partial(
    option, "Name of the index; an existing index of this name is replaced.", required=True,
    label="Name of the index; an older one is replaced when all is done", example="such as simple-wiki",
)  # fmt: skip
yes = functools.partial(flag, "Do not ask for confirmation.")


@parameters
class Privacy:
    """Whether an index is private, from its first moment."""

    private: bool | None = option(
        "Mark the index as private, or take the mark away: nothing that is read in a private index leaves this "
        "machine without your word. Default: a new index of a folder of documents is private, others are not."
    )


@parameters
class TextWish:
    """What a text index is built from, and how."""

    command: ClassVar = ("text", "build")
    inputs: tuple[Path, ...] = _inputs(
        label="A folder of documents (PDF, notes, office files, mail, …), or a file: document, dump, Parquet, ZIM, "
        "JSONL"
    )
    name: str = _name(completes="text_indexes")
    format_: str = option(
        "Format of the inputs; auto detects it for each file.", label="Format",
        type=ArticleFormat(["auto", "documents", "jsonl", "csv", "mediawiki", "wikiextractor", "parquet", "zim"]),
        default="auto",
    )  # fmt: skip
    id_column: str = option("Column or key that holds the id of an article.", "--id", metavar="COLUMN", default="")
    title_column: str = option("Column or key that holds the title.", "--title", metavar="COLUMN", default="")
    text_column: str = option(
        'Column or key that holds the text, in CSV, JSON lines and Parquet; "a.b" is the key b within a. '
        "Without --id, articles are known by their place in the file; without --title, by their first words.",
        "--text", metavar="COLUMN", default="",
    )  # fmt: skip
    salvage: bool = flag("Take what stands before the damage of a damaged or cut-off file.")
    limit: int | None = option("Take only this many articles.", type=click.IntRange(min=1))
    titles: Path | None = option("Take only articles with the titles in this file, one per line.", metavar="FILE")
    engine: Literal["local", "ray"] = option(
        "ray reads and embeds with the workers of a Ray cluster (RAY_ADDRESS), or of this machine. It alone opens "
        "network sockets, on the loopback address unless a cluster is named; it needs atomr-local[ray].",
        default="local",
    )
    vectors: Literal["auto", "now", "later"] = option(
        "later builds the search by words alone, many times faster; searches then embed what they find, and "
        "`atomr text embed` the rest. auto: now for small inputs, later for more than 10 MB of text; with --add, as "
        "the index is, and so with `atomr text sync` unless more than 10 MB of text are new.",
        default="auto",
    )
    processes: int | None = option(
        "Read the pages of a MediaWiki dump with this many processes; the index is the same. Default: one for each "
        "processor core, at most 4.",
        metavar="N", type=click.IntRange(1, 64),
    )  # fmt: skip
    add: bool = flag("Add to an existing index: append new articles, replace changed ones.")
    exclude: tuple[str, ...] = option(
        "Leave out files and folders of a folder that match, as in a .gitignore file; may be repeated.",
        metavar="PATTERN",
    )
    hidden: bool = flag("Read the files of a folder whose names begin with a dot too.")
    gitignore: bool = flag("Leave out what the .gitignore files of a folder leave out.")
    ocr: str = option(
        "Read scanned pages of PDF files by OCR, with the program tesseract, in these languages: eng, or deu+eng.",
        metavar="LANGUAGES", default="",
    )  # fmt: skip
    privacy: Privacy


@parameters
class GraphWish:
    """What a graph index is built from, and how."""

    command: ClassVar = ("graph", "build")
    inputs: tuple[Path, ...] = _inputs(label="File: N-Triples, Turtle, Wikidata JSON, JSONL")
    name: str = _name(completes="graph_indexes")
    format_: Literal["auto", "nt", "turtle", "wikidata-json", "facts-jsonl"] = option(
        "Format of the inputs; auto detects it for each file. Files may be plain, .gz or .bz2.",
        default="auto", label="Format",
    )  # fmt: skip
    entities: Path | None = option(
        "Keep only the facts about these entities: a file with one Q-id per line.", metavar="FILE"
    )
    text_index: str | None = option(
        "Keep only the facts about the articles of this text index, by Q-id or title.", metavar="NAME",
        completes="text_indexes", label="Graph only about the articles of this text index", example="everything",
    )  # fmt: skip
    properties: Path | None = option(
        "Keep only these properties: a file with one P-id per line [default: all but external identifiers and media].",
        metavar="FILE",
    )
    language: str = option("Language of labels, aliases and descriptions.", default="en")
    linearise: bool = flag("Also make the facts as text, as `atomr graph linearise` does.")
    privacy: Privacy


@parameters
class ExportWish:
    """An index that is written into a file for others."""

    command: ClassVar = ("indexes", "export")
    name: str = argument(completes="index_names")
    file: Path = argument(
        type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.tar.zst",
        label="File to write; it names the inputs of the index without folders",
    )  # fmt: skip
    kind: Literal["text", "graph"] | None = option("Kind, where both have an index NAME.")
    licence: str = option(
        "Licence of the content, such as 'CC BY-SA 4.0'.", default="",
        label="Licence of the content", example="such as CC BY-SA 4.0; empty: not stated",
    )  # fmt: skip
    source: str = option(
        "Where the content comes from, such as the address of a dump.", default="",
        label="Where the content comes from", example="such as the address of a dump; empty: not stated",
    )  # fmt: skip
    replace: bool = flag("Replace a file that is there.", label="Replace a file that is there")
    share_private: bool = flag(
        "Write it though the index is private.", label="The index is private: write it for others all the same"
    )


@parameters
class _Taken:
    """What an index is called here."""

    called: str = option(
        "Name for the index [default: as its maker called it].", "--name", default="",
        label="Name for the index", example="empty: as its maker called it",
    )  # fmt: skip
    replace: bool = flag("Replace an index of this name.", label="Replace an index of this name")


@parameters
class ImportWish:
    """An index that is taken in from a file."""

    command: ClassVar = ("indexes", "import")
    file: Path = argument(
        type=click.Path(path_type=Path, dir_okay=False),
        label="File exported elsewhere; checked in full before it is opened", example="index.tar.zst; → completes",
    )  # fmt: skip
    taken: _Taken
    privacy: Privacy


@parameters
class PullWish:
    """An index that is downloaded and taken in."""

    url: str = argument()
    taken: _Taken
    sha256: str = option("SHA-256 of the file, as its maker published it.", default="", parse=_digest)
    base_url: str = option("Server of your own that may be asked over http.", default="")
    yes: bool = yes()
    privacy: Privacy


# Downloads.

CONTACT = "ATOMR_CONTACT"
WIKIDATA = "https://www.wikidata.org/w/api.php"
_build = functools.partial(
    option, "Also build the index NAME from it.", metavar="NAME", default="", label="Name", example="of the index"
)
_contact = functools.partial(
    option,
    f"How servers can reach you, sent with every request [default: the environment variable {CONTACT}].",
    metavar="EMAIL_OR_URL",
    label="Your e-mail address or page, which Wikimedia asks for",
    example="may be left out",
)


@parameters
class ModelWish:
    """A model that is downloaded."""

    command: ClassVar = ("models", "pull")
    name: str = argument(
        required=False, default="", metavar="[NAME|URL]", completes="offered_models",
        label="Address of a GGUF file", example="https://…/model.gguf",
    )  # fmt: skip
    called: str = option("Name for the model [default: as in the catalogue or the address].", "--name", default="")
    use: bool = flag("Write it to the settings as the model to use.")
    replace: bool = flag("Replace another model of this name without confirmation.")
    base_url: str = option("Mirror to use instead of Hugging Face.", default="")
    yes: bool = yes()


@parameters
class WikipediaWish:
    """The request for a Wikipedia; sizes in bytes, 0 for no limit."""

    command: ClassVar = ("fetch", "wikipedia")
    language: str = option(
        "Language of the Wikipedia.", default="simple", parse=_matching("LANGUAGE", "language such as simple or en")
    )
    kind: Literal["dump", "parquet"] = option(
        "Wiki text of the latest dump, or plain text of the data set wikimedia/wikipedia.", default="dump"
    )
    date: str = option(
        "Date of the dump [default: the newest].", default="", parse=_matching("DATE", "date such as 20261101")
    )
    max_size: int = option("Download at most this much, such as 1GB.", metavar="SIZE", default="", parse=size_of)
    to: Path | None = option("Directory [default: downloads/ in the data folder].")
    rate_limit: int = option("Bytes per second at most, such as 2MB.", metavar="SIZE", default="", parse=size_of)
    base_url: str = option("Mirror to use instead of Wikimedia or Hugging Face.", default="")
    limit: int | None = option(
        "With --build: index only this many articles.", type=click.IntRange(min=1),
        label="At most … articles", example="all",
    )  # fmt: skip
    build: str = _build()
    contact: str | None = _contact()
    yes: bool = yes()

    @property
    def folder(self) -> Path:
        """Where the files go."""
        return self.to.expanduser() if self.to is not None else paths.downloads_dir()


@parameters
class WikidataWish:
    """The request for facts of a text index or a list, or for labels of a graph index; `rate` in requests a second."""

    command: ClassVar = ("fetch", "wikidata")
    text_index: str = option(
        "Download facts about the articles of this text index.", metavar="NAME", default="", completes="text_indexes",
        label="About the articles of this text index; the site their titles are of", example="no text index is there",
    )  # fmt: skip
    entities: Path | None = option(
        "Download facts about these entities: a file with one Q-id per line.", metavar="FILE"
    )
    labels_for: str = option(
        "Download only the labels that this graph index lacks; with --build NAME, build it again with them.",
        metavar="NAME", default="",
    )  # fmt: skip
    to: Path | None = option(
        "File or directory [default: downloads/wikidata-NAME.jsonl in the data folder].", metavar="FILE"
    )
    site: str = option(
        "Wiki on which article titles are looked up.",
        default="enwiki", parse=_matching("SITE", "site such as enwiki or simplewiki"),
    )  # fmt: skip
    languages: list[str] = option("Languages of names, such as en,de.", default="en", parse=_languages)
    all_statements: bool = flag("Keep external identifiers and media too.")
    rate: float = option("Maximum number of requests per second.", type=_Rate(0.001, 10), default=2.0)
    base_url: str = option("Address of api.php to use instead of Wikidata's.", default=WIKIDATA, show_default=False)
    share_private: bool = flag("Send the titles or ids of a private index to the server all the same.")
    build: str = _build()
    contact: str | None = _contact()
    yes: bool = yes()

    @property
    def stem(self) -> str:
        """What to name things after."""
        if self.labels_for:
            return f"labels-{self.labels_for}"
        if self.entities is None:
            return self.text_index
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.entities.stem).strip(".-_") or "entities"

    @property
    def target(self) -> Path:
        """The file that is written."""
        place = self.to.expanduser() if self.to is not None else paths.downloads_dir()
        return place / f"wikidata-{self.stem}.jsonl" if self.to is None or place.is_dir() else place
