"""The settings model. Precedence, lowest first: defaults, settings file (TOML), environment, command line."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import SettingsError as UnreadableVariable

from atomr_local.errors import SettingsError
from atomr_local.system import paths
from atomr_local.system.credentials import Secret, SecretUrl
from atomr_local.system.files import clear_leftovers, read_regular
from atomr_local.system.plugins import SOURCE_GROUP, offered
from atomr_local.tree.validation import Limits

# Settings by the names of earlier versions: they are still read, and a note gives the new name.

# Old name of a group of settings: its name now.
OLD_GROUPS = {"means": "features"}
_LONGEST = 60


def renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of one place by today's names. Where it has both names of one, today's counts."""
    made = dict(values)
    for old, new in OLD_GROUPS.items():
        if old in made:
            former, present = made.pop(old), made.get(new, {})
            both = isinstance(former, Mapping) and isinstance(present, Mapping)
            made[new] = {**former, **present} if both else present or former
    return made


def renamed_key(key: str) -> str:
    """A dotted key by today's name."""
    group, dot, rest = key.partition(".")
    return f"{OLD_GROUPS[group]}.{rest}" if dot and group in OLD_GROUPS else key


def notes(variables: Iterable[str], groups: Iterable[str]) -> list[str]:
    """A line for each old name among environment variables and the groups of a settings file."""
    lines = [f"The settings group [{old}] is now [{new}]" for old, new in OLD_GROUPS.items() if old in groups]
    for name in sorted(variables):
        old, _, rest = name.upper().removeprefix("ATOMR_").partition("__")
        if name.upper().startswith("ATOMR_") and old.lower() in OLD_GROUPS:
            now = "__".join(filter(None, (OLD_GROUPS[old.lower()].upper(), rest[:_LONGEST])))
            lines.append(f"The environment variable {name[:_LONGEST]} is now ATOMR_{now}")
    return [f"{line}; the old name is still read." for line in lines]


# Explains invalid settings and unknown environment variables.

_SHOWN = 60
_LONGEST_KEY = 120
# By the beginning of the name that pydantic gives to an error.
_WANTED = {
    "finite": "a finite number",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string_type": "a text",
    "tuple": 'a list, such as ["text"]',
    "list": "a list",
    "dict": "a table",
    "model": "a table of settings",
}
# Variables of the program that are read where they are used.
_OTHER_VARIABLES = frozenset(
    {"ATOMR_HOME", "ATOMR_CONTACT", "ATOMR_LOG_LEVEL", "ATOMR_PROGRESS_EVERY", "ATOMR_KILLS", "ATOMR_SERVE_TOKEN"}
)


def problem(error: ValidationError, model: type[BaseModel]) -> str:
    """The first thing that is wrong, with the dotted key of the setting before it."""
    first = error.errors(include_url=False)[0]
    key = _cut(".".join(str(part) for part in first["loc"]), _LONGEST_KEY)
    if first["type"] == "extra_forbidden":
        return f"{key}: there is no such setting{_near(key, list(setting_keys(model)))}"
    context: Mapping[str, Any] = first.get("ctx", {})
    if first["type"] == "value_error":
        return f"{key}: {context.get('error', first['msg'])}"
    wanted = _wanted(first["type"], context)
    if not wanted:
        return f"{key}: {first['msg']}"
    given = "" if _has_secret(first["loc"], model) else f"{_short(first['input'])} is not usable, "
    return f"{key}: {given}expected {wanted}"


def _has_secret(place: tuple[int | str, ...], model: type[BaseModel]) -> bool:
    """Whether the setting at this place is a secret, or one of a group with a secret, for which it may be mistaken."""
    field = model.model_fields.get(str(place[0])) if place else None
    kind = field.annotation if field is not None else None
    if not isinstance(kind, type):
        return False
    if issubclass(kind, Secret):
        return True
    return issubclass(kind, BaseModel) and any(_has_secret((name,), kind) for name in kind.model_fields)


def setting_keys(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """The dotted key of every setting."""
    for name, field in model.model_fields.items():
        group = field.annotation
        if isinstance(group, type) and issubclass(group, BaseModel):
            yield from setting_keys(group, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def unknown_variables(model: type[BaseModel], names: Iterable[str] = os.environ) -> list[str]:
    """A line for each ATOMR_ variable that names no setting: it is not looked at."""
    fields = {name.upper() for name in (*model.model_fields, *OLD_GROUPS)}
    lines = []
    for name in sorted(names):
        upper = name.upper()
        if not upper.startswith("ATOMR_") or upper in _OTHER_VARIABLES:
            continue
        if upper.removeprefix("ATOMR_").partition("__")[0] not in fields:
            known = [f"ATOMR_{key.replace('.', '__').upper()}" for key in setting_keys(model)]
            shown = _cut(name, _SHOWN)
            near = _near(name, known) if shown == name else ""
            lines.append(f"The environment variable {shown} is not a setting{near}; it is ignored.")
    return lines


def _near(key: str, known: list[str]) -> str:
    if len(key) > _LONGEST_KEY:
        return ""
    last = key.rpartition(".")[2]
    found = [name for name in known if name.rpartition(".")[2] == last]
    found += difflib.get_close_matches(key, known, n=2, cutoff=0.7)
    return f" (did you mean {' or '.join(dict.fromkeys(found))}?)" if found else ""


def _wanted(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "literal_error":
        return str(context.get("expected", ""))
    if kind == "string_pattern_mismatch":
        return f"a text of the form {context.get('pattern', '')}"
    if kind == "string_too_long":
        return f"a text of at most {context.get('max_length', '')} characters"
    bounds = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    for name, words in bounds.items():
        if name in context:
            return f"{words} {context[name]}"
    return next((words for start, words in _WANTED.items() if kind.startswith(start)), "")


def _short(value: Any) -> str:
    try:
        return _cut(repr(value), _SHOWN)
    except (ValueError, RecursionError):  # a number of more digits than Python writes, or a deep nest
        return f"such a {type(value).__name__}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


# Bounds on the text of settings, checked before parsing.
#
# tomllib and json call themselves for each level of nesting, tomllib takes quadratic time for a key of many dots, and
# Python refuses numbers of more than 4,300 digits with an error of another kind. No setting needs any of that.

MOST_BYTES = 1 << 20
_MOST_VARIABLE = 1 << 16
_DEEPEST = 32
_LONGEST_WORD = 1000  # characters of a key or a number that stands in no quotes
_MOST_NAMES = 4  # a group, a setting and an item of it, and one to spare for a better message
_DOT = re.compile(r"(?<![ \t])[ \t]*+\.[ \t]*+")
_WORD_ENDS = re.compile(r"""[^\w".'+:-]+""")
_MARKS = re.compile(r"[\[{\]}\n]")
# Strings and comments of TOML, and the strings of JSON, with or without their end. Possessive: each is read once.
_QUOTED = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+(?:""")?'
    r"|'''[^']*+(?:'(?!'')[^']*+)*+(?:''')?"
    r'|"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)


def read_settings_text(path: Path) -> str | None:
    """The text of a settings file, checked as far as it can be before it is parsed; None if there is no file.

    Raises:
        SettingsError: it is no regular file, longer than 1 MiB, not UTF-8, cannot be read, or is beyond all bounds.
    """
    try:
        text = read_regular(path, MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path} is not valid TOML: byte {error.start} is not UTF-8", hint="Correct the file or delete it."
        ) from None
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}",
            hint="Settings are a text file in TOML of at most 1 MiB.",
        ) from error
    check_bounds(text, str(path))
    return text


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The values of a settings file.

    Raises:
        SettingsError: it is not valid TOML.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib's own error, or one of a date or number that is none
        raise SettingsError(f"{where} is not valid TOML: {error}", hint="Correct the file or delete it.") from None


def check_bounds(text: str, where: str) -> None:
    """Refuse a text that a parser would choke on.

    Raises:
        SettingsError: something is nested too deeply, or a key or number is too long; the line is named.
    """
    bare = _QUOTED.sub(lambda match: '""' + "\n" * match[0].count("\n"), text)
    depth, line = 0, 1
    for mark in _MARKS.finditer(bare):
        character = mark[0]
        if character == "\n":
            line += 1
            continue
        depth += 1 if character in "[{" else -1
        if depth > _DEEPEST:
            raise _beyond(where, line, f"more than {_DEEPEST} brackets are open at once")
    for number, words in enumerate(_DOT.sub(".", bare).split("\n"), 1):
        for word in _WORD_ENDS.split(words) if len(words) > _DEEPEST else ():
            if len(word) > _LONGEST_WORD:
                raise _beyond(where, number, f"a key or number of {len(word)} characters")
            if word.count(".") > _DEEPEST:
                raise _beyond(where, number, f"a key of more than {_DEEPEST} parts")


def check_variables(variables: Mapping[str, str]) -> None:
    """Refuse ATOMR_ environment variables that are no settings of any kind.

    Raises:
        SettingsError: a value is too long or too deeply nested, or a name has too many parts.
    """
    for name, value in variables.items():
        if not name.upper().startswith("ATOMR_"):
            continue
        shown = f"the environment variable {name if len(name) <= 60 else name[:60] + '…'}"
        if name.count("__") > _MOST_NAMES:
            raise SettingsError(f"{shown} names no setting: its name has too many parts")
        if len(value) > _MOST_VARIABLE:
            raise SettingsError(f"{shown} is longer than {_MOST_VARIABLE} characters", hint="Give a shorter value.")
        if value.lstrip()[:1] in {"[", "{"}:
            check_bounds(value, shown)


def _beyond(where: str, line: int, what: str) -> SettingsError:
    return SettingsError(f"{where}, line {line}: {what}", hint="No setting needs that. Correct it or take it out.")


Origin = Literal["environment", "settings file"]
STARTER = "starter"
_LOCAL_SOURCES = ("text", "graph")
_KEYS = re.compile(r"[^\s,]+(?:,[^\s,]+)*")


def _known_source(name: str) -> str:
    if name in _LOCAL_SOURCES:
        return name
    of_packages = offered(SOURCE_GROUP, (*_LOCAL_SOURCES, "web"))
    if name not in of_packages:
        raise ValueError(f"{name[:40]!r} is none of {', '.join((*_LOCAL_SOURCES, *of_packages))}")
    return name


SourceId = Annotated[str, AfterValidator(_known_source)]


class _Group(BaseModel):
    # `problem` shows a wrong value, because it knows what is secret; a traceback does not.
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, str_max_length=4096, hide_input_in_errors=True)


class EndpointSettings(_Group):
    """An OpenAI-compatible server used instead of the in-process model."""

    url: SecretUrl = Field(
        SecretUrl(),
        description="Base address, such as http://127.0.0.1:8080/v1; empty: use the local model file. Questions and "
        "evidence go to a server on another machine.",
    )
    model: str = Field("", description="Model name to ask the server for.")
    api_key: Secret = Field(
        Secret(), description="Sent as a bearer token when not empty. ATOMR_ENDPOINT__API_KEY sets it too."
    )
    timeout: float = Field(120.0, gt=0, le=86_400, description="Seconds to wait for the server between two fragments.")
    deadline: float = Field(900.0, gt=0, le=86_400, description="Seconds that one call may take in total.")
    allow_unencrypted_credentials: bool = Field(
        False, description="Send a key or password unencrypted over http:// to another machine."
    )


class NetworkSettings(_Group):
    """How the program connects to other machines."""

    use_proxy: bool = Field(
        False, description="Use the proxies that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name."
    )


class ModelSettings(_Group):
    """The in-process model and how it is run."""

    context_tokens: int = Field(4096, ge=512, le=1_048_576, description="Context window to allocate, in tokens.")
    threads: int = Field(0, ge=0, le=512, description="Threads while generating; 0: chosen from the processor.")
    batch_threads: int = Field(0, ge=0, le=512, description="Threads while reading a prompt; 0: as many as cores.")
    drafting: bool = Field(
        True, description="Speculative decoding: propose the next words of a plan from example plans."
    )
    prefix_cache: bool = Field(True, description="Read the common part of prompts once and keep it on disk.")
    parallel: int = Field(4, ge=1, le=16, description="Maximum number of steps that run at the same time.")
    weights: Literal["auto", "F16", "Q8_0", "Q4_0", "file"] = Field(
        "auto",
        description="How a small model merged with its adapter is stored (made once): F16, whose answers hardly depend "
        "on the processor; Q8_0, half as large; Q4_0, smaller and less exact; auto: F16 where the processor supports "
        "it, else Q8_0; file: not at all, the file is run as it is.",
    )
    cpu_variant: str = Field(
        "auto",
        pattern=r"^[a-z0-9_.]{1,40}$",
        description="CPU backend of llama.cpp, such as haswell; auto: the best for this processor. Takes effect at "
        "the next start.",
    )
    gpu_layers: int = Field(
        -1,
        ge=-1,
        le=10_000,
        description="Layers of the model that run on the GPU, where llama.cpp was built for one; -1: all; 0: none. If "
        "the model cannot be loaded so, it runs on the processor, with a warning.",
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed for random numbers.")


class LimitSettings(_Group):
    """Limits of a question. The trace says what a limit left out."""

    nodes: int = Field(40, ge=2, le=400, description="Maximum number of nodes in a plan.")
    depth: int = Field(8, ge=1, le=32, description="Maximum number of levels below the root.")
    fan_out: int = Field(12, ge=1, le=64, description="Maximum number of children of one node.")
    references: int = Field(
        16, ge=1, le=256, description="Maximum number of values of a reference that an operator runs for."
    )
    calls: int = Field(
        80,
        ge=1,
        le=10_000,
        description="Maximum number of model calls; then the question is concluded from what is known.",
    )
    evidence_tokens: int = Field(900, ge=64, description="Maximum number of prompt tokens for evidence in one call.")
    example_tokens: int = Field(
        1000, ge=0, description="Maximum number of prompt tokens for worked examples in one call."
    )
    passage_words: int = Field(70, ge=10, description="Words of the best passage that the model sees.")
    pointed_words: int = Field(
        380, ge=50, description="Words of passages in which the model names the sentences that answer."
    )

    def of_plans(self) -> Limits:
        """Those that a plan has to keep."""
        return Limits(nodes=self.nodes, depth=self.depth, fan_out=self.fan_out)


class FeatureSettings(_Group):
    """Features that help small models. Each can be switched off by itself, to measure it (docs/small-models.md)."""

    cut_evidence: bool = Field(True, description="Show the sentences that matter for the question, not the first ones.")
    span_answers: bool = Field(True, description="Answers read from evidence are runs of its words.")
    symbolic: bool = Field(True, description="Compute comparisons, counts and dates instead of asking the model.")
    source_rules: bool = Field(True, description="Use the graph alone if it is sure, without asking the model.")
    page_first: bool = Field(True, description="Put the page that an entity names before pages that mention it.")
    page_alone: bool = Field(True, description="Read the entity's page first, other passages only if unsure.")
    beam: bool = Field(True, description="Keep several readings of an unsure step; choose the best combination.")
    judge_plans: bool = Field(True, description="Warn about names and numbers of the question that a plan leaves out.")
    guess: bool = Field(
        True, description="Guess from the evidence, marked as a guess, before using the model's memory."
    )
    verify: bool = Field(True, description="Ask the model whether the evidence supports its answer.")
    follow_ups: bool = Field(
        True,
        description="Strategies that ask one question after another use what an adapter has learnt about it; off: the "
        "prompts that any model gets.",
    )
    collections: bool = Field(
        True,
        description="Answer questions about all documents of an index together from its catalogue, not by the model.",
    )
    pointing: bool = Field(
        True,
        description="Read the passages nearest to the question first, and answer in the sentences that tell it.",
    )
    span_reader: bool = Field(True, description="Let a small encoder judge what the model reads in passages.")
    rival: bool = Field(True, description="Compare the tree's answer with a direct one; keep the more likely one.")
    ask_on: bool = Field(
        True,
        description="Where the answer is not sure, ask one question after another as well; keep the more likely "
        "answer. Needs an adapter that has learnt it.",
    )
    write_queries: bool = Field(
        False,
        description="Where the graph knows the entity of a look-up but not surely its relation, let the model choose "
        "among the entity's properties.",
    )
    vote: bool = Field(
        False,
        description="Sample an unsure reading a few times; the most frequent answer stands, in a tie the first one.",
    )
    other_source: bool = Field(
        False,
        description="Look an unsure answer of the graph up in the text as well, and one of the text in the graph; keep "
        "the surer one.",
    )
    decline: bool = Field(True, description='Say "not found" if the evidence does not support an answer.')


class RetrievalSettings(_Group):
    """How passages are found."""

    reranker: str = Field(
        "",
        description="Directory of a cross-encoder (safetensors) that reorders search results; empty: none.",
    )


class WebSettings(_Group):
    enabled: bool = Field(False, description="Whether questions may be sent to the web search engine.")
    timeout: float = Field(10.0, gt=0, le=120, description="Seconds to wait for the search engine.")
    region: str = Field("wt-wt", pattern=r"^[a-z]{2}-[a-z]{2}$", description="DuckDuckGo region code.")


class HistorySettings(_Group):
    keep: bool = Field(True, description="Keep every question with its trace, on this machine only.")


class ConversationSettings(_Group):
    """Follow-up questions in the terminal UI."""

    follow: bool = Field(True, description="Whether a question may refer to earlier ones (terminal UI).")


class PrivacySettings(_Group):
    """What must not leave this machine."""

    indexes: str = Field(
        "",
        description="Private text and graph indexes, with commas: a question that may read one is refused while web "
        "search is on or the model is on another machine.",
    )
    share: bool = Field(False, description="Let what is read in private indexes go to the web and to other machines.")


class UISettings(_Group):
    """Appearance and keys of the terminal UI."""

    theme: str = Field("", description="Colour theme; empty: chosen from the terminal.")
    keys: dict[str, str] = Field(
        default_factory=dict,
        description="Your own keys: action id (see F1) = key, or several keys separated by commas.",
    )
    first_run_done: bool = Field(False, description="Whether the choice offered at the first start was made.")
    embed_idle: str = Field(
        "",
        description="Text indexes whose missing vectors are made while no question runs, with commas; all: every one; "
        "empty: none.",
    )
    tree_share: int = Field(50, ge=20, le=80, description="Width of the reasoning tree in percent.")

    @field_validator("keys")
    @classmethod
    def _keys_named(cls, keys: dict[str, str]) -> dict[str, str]:
        for name, key in keys.items():
            if not name.strip():
                raise ValueError(f"the key {key!r} has no id before it")
            if not _KEYS.fullmatch(key) or not key.isprintable():
                raise ValueError(
                    f"{name}: {key!r} is not a key; write one such as f5 or ctrl+n, or several with commas"
                )
        return keys


class Settings(BaseSettings):
    """Everything a user can set. Environment variables: ATOMR_MODEL, ATOMR_LIMITS__NODES, …"""

    model_config = SettingsConfigDict(
        env_prefix="ATOMR_",
        env_nested_delimiter="__",
        extra="forbid",
        env_ignore_empty=True,
        validate_default=True,
        allow_inf_nan=False,
        str_max_length=4096,
        hide_input_in_errors=True,
    )
    file: ClassVar[Path | None] = None

    model: str = Field(STARTER, description="Model name (see `atomr models list`) or path of a GGUF file.")
    adapter: str = Field("auto", description="LoRA adapter (GGUF): auto, none, a name or a path.")
    embedder: str = Field(STARTER, description="Sentence embedder: starter, or the path of a local directory.")
    text_index: str = Field(
        "",
        description="Text index to search, or several searched together, with commas (wiki,notes); empty: the only one "
        "built, else the starter.",
    )
    graph_index: str = Field("", description="Graph index to search; empty: the only one built, else the starter.")
    sources: tuple[SourceId, ...] = Field(
        _LOCAL_SOURCES, description="Sources that may be used besides the web (see `atomr sources`)."
    )
    strategy: str = Field("atomr", description="Reasoning method (see `atomr strategies`).")
    strategies: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Options of strategies, such as rag.top_k = 5; in the settings file a table each, such as "
        "[strategies.rag]. `atomr strategies rag` lists them.",
    )
    top_k: int = Field(3, ge=1, le=50, description="Pieces of evidence per source and retrieval.")
    filter_overlap: float = Field(0.5, ge=0, le=1, description="Filter drops entities whose word overlap is lower.")
    retrieval: RetrievalSettings = RetrievalSettings()
    web: WebSettings = WebSettings()
    history: HistorySettings = HistorySettings()
    conversation: ConversationSettings = ConversationSettings()
    limits: LimitSettings = LimitSettings()
    features: FeatureSettings = FeatureSettings()
    llm: ModelSettings = ModelSettings()
    endpoint: EndpointSettings = EndpointSettings()
    network: NetworkSettings = NetworkSettings()
    ui: UISettings = UISettings()
    privacy: PrivacySettings = PrivacySettings()

    @field_validator("strategies", mode="before")
    @classmethod
    def _options_plain(cls, strategies: Any) -> Any:
        """Each strategy checks its own once it is found: one that is not installed must not stop the program."""
        if not isinstance(strategies, Mapping):
            raise ValueError("expected tables of options, such as [strategies.rag]")
        for name, options in strategies.items():
            if not isinstance(options, Mapping):
                raise ValueError(f"{name!s:.40}: expected a table of options, such as [strategies.rag]")
            for option, value in options.items():
                if not isinstance(value, bool | int | float | str | None) or len(f"{value!s:.4097}") > 4096:
                    raise ValueError(f"{name!s:.40}.{option!s:.40}: expected true or false, a number or a text")
        return strategies

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        made = (InitSettingsSource(settings_cls, values) for values in (_environment_values(), _file_values()))
        return init_settings, *made


class _OldNames(BaseSettings):
    """Groups of settings under their old names, for environment variables."""

    model_config = SettingsConfigDict(env_prefix="ATOMR_", env_nested_delimiter="__", env_ignore_empty=True)
    means: FeatureSettings = FeatureSettings()


def _environment_values() -> dict[str, Any]:
    """Values of environment variables, by today's names."""
    return renamed(EnvSettingsSource(_OldNames)() | EnvSettingsSource(Settings)())


_cleaned: set[Path] = set()


def _file_values() -> dict[str, Any]:
    """Values of the settings file, by today's names; an absent file has none."""
    path = Settings.file or paths.config_file()
    if path not in _cleaned:  # once in a program's run: what a killed write left may hold a key
        _cleaned.add(path)
        clear_leftovers(path)
    text = read_settings_text(path)
    return {} if text is None else renamed(parse_toml(text, str(path)))


def load_settings(**overrides: Any) -> Settings:
    """Settings with `overrides` (command line) on top of environment and file.

    Overrides that are None are ignored; nested ones are given as dictionaries.

    Raises:
        SettingsError: a value is not usable; the message names its key.
    """
    given = renamed({key: value for key, value in overrides.items() if value is not None})
    check_variables(os.environ)
    try:
        return Settings(**given)
    except UnreadableVariable as error:
        raise _unreadable(error) from error
    except ValidationError as error:
        raise SettingsError(
            problem(error, Settings),
            hint=f"Look at the command line, ATOMR_* environment variables and {Settings.file or paths.config_file()}.",
        ) from error


def _unreadable(error: UnreadableVariable) -> SettingsError:
    return SettingsError(
        f"an ATOMR_* environment variable is not JSON: {error}",
        hint="""Lists and tables are written as JSON, such as ATOMR_SOURCES='["text"]'.""",
    )


def leaves(values: Mapping[str, Any], model: type[BaseModel] = Settings) -> Iterator[tuple[str, Any]]:
    """Each setting that nested `values` hold, by its dotted key; what the model does not know is left out."""
    for name, value in values.items():
        field = model.model_fields.get(name)
        group = field.annotation if field is not None else None
        if isinstance(group, type) and issubclass(group, BaseModel):
            if isinstance(value, Mapping):
                yield from ((f"{name}.{key}", leaf) for key, leaf in leaves(value, group))
        elif field is not None:
            yield name, value


def origins() -> dict[str, Origin]:
    """Who says what a setting is, by dotted key; a setting that keeps its default is left out.

    Raises:
        SettingsError: the settings file cannot be read, or a variable is not what it should be.
    """
    check_variables(os.environ)
    try:
        told_by_environment = _environment_values()
    except UnreadableVariable as error:
        raise _unreadable(error) from error
    found: dict[str, Origin] = {key: "settings file" for key, _ in leaves(_file_values())}
    return found | {key: "environment" for key, _ in leaves(told_by_environment)}
