"""The settings model. Precedence, lowest first: defaults, settings file (TOML), environment, command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
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

from atomr_local import paths
from atomr_local.credentials import Secret, SecretUrl
from atomr_local.errors import SettingsError
from atomr_local.output_files import clear_leftovers
from atomr_local.plugins import SOURCE_GROUP, offered
from atomr_local.settings.old_names import renamed
from atomr_local.settings.problems import problem
from atomr_local.settings.text import check_variables, parse_toml, read_settings_text
from atomr_local.tree.validation import Limits

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
    """What environment variables may still be named."""

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
