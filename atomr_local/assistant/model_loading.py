"""The model that the settings name: its files, what its adapter has learnt, and loading it or reaching its server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.reasoning.confidence import Calibration
from atomr_local.settings.schema import Settings
from atomr_local.strategies.protocol import ModelSkills
from atomr_local.system import paths
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from atomr_local.models.llama.probe import ProbeTask
    from atomr_local.models.protocol import Backbone

# The model's own, and its adapter's.
ModelFiles = tuple[Path, Path | None]
# Of a model, to be read once more at the start: a tenth of a second.
_CHECKED_BYTES = 256 << 20


class AdapterSkills(ModelSkills):
    """The skills of a model with its adapter."""

    @classmethod
    def of(cls, files: ModelFiles | None) -> AdapterSkills:
        """As the adapter's card says; `files`: None for a server."""
        from atomr_local.models.catalog.find import adapter_card, task_adapters

        adapter = files[1] if files is not None else None
        if adapter is None:
            return cls()
        card = adapter_card(adapter)
        given = card.get("tasks")
        tasks = given if isinstance(given, list) else []
        lean = card.get("prompts") == "lean"
        return cls(
            "lean" if lean else "full",
            Calibration.from_card(card),
            verifies=not lean or "verify" in tasks,
            rewrites=not lean or "rewrite" in tasks,
            knows_next=lean and ("next" in tasks or "next" in task_adapters(adapter)),
            points=not lean or "point" in tasks,
        )


def model_files(settings: Settings) -> ModelFiles | None:
    """The model file and its adapter; None if a server is asked instead."""
    if settings.endpoint.url:
        return None
    from atomr_local.models.catalog.find import find_adapter, find_model

    path = find_model(settings.model)
    return path, find_adapter(settings.adapter, path)


def probe_task(settings: Settings, model: Path, adapter: Path | None) -> ProbeTask:
    """What is to be tried out before these settings' model is loaded into this process."""
    from atomr_local.models.catalog.find import task_adapters
    from atomr_local.models.llama.engine import RunOptions
    from atomr_local.models.llama.probe import ProbeTask

    llm = settings.llm
    options = RunOptions(
        context_tokens=llm.context_tokens,
        threads=llm.threads,
        batch_threads=llm.batch_threads,
        speculative=llm.drafting,
        reuse=llm.prefix_cache,
        parallel=llm.parallel,
        storage=None if llm.weights == "file" else llm.weights,
        cache=paths.cache_dir(),
        cpu_variant=llm.cpu_variant,
        task_adapters=dict(sorted(task_adapters(adapter).items())) if adapter is not None else {},
        gpu_layers=llm.gpu_layers,
    )
    return ProbeTask(model, adapter, options)


def open_server(settings: Settings) -> Backbone:
    """The server that is asked instead of a model of this process."""
    from atomr_local.models.openai import OpenAIBackbone

    endpoint = settings.endpoint
    return OpenAIBackbone(
        endpoint.url,
        endpoint.model,
        endpoint.api_key,
        endpoint.timeout,
        deadline=endpoint.deadline,
        unencrypted=endpoint.allow_unencrypted_credentials,
        use_proxy=settings.network.use_proxy,
    )


def load_model(
    settings: Settings,
    files: ModelFiles,
    stage: Callable[[str], None],
    notify: Callable[[str], None],
    probing: Cancellation,
) -> Backbone:
    """The model in this process, in the way that works on this machine.

    Args:
        notify: takes what the user should know of it.
        probing: ends the trial of the model, which runs in a process of its own.

    Raises:
        ModelError: it cannot be loaded.
        Cancelled: the trial was ended.
    """
    from atomr_local.models.catalog.find import require_whole
    from atomr_local.models.llama import LlamaBackbone
    from atomr_local.models.llama.probe import working_way
    from atomr_local.models.llama.weights import is_prepared

    path, adapter = files
    task = probe_task(settings, path, adapter)
    if not is_prepared(path, adapter, task.options):  # prepared weights are read in their place
        for file in filter(None, files):
            require_whole(file, _CHECKED_BYTES)
    for file in task.options.task_adapters.values():
        require_whole(file, _CHECKED_BYTES)
    way = working_way(
        task,
        on_probe=lambda: stage("checking that the model runs on this machine, once"),
        notify=notify,
        cancellation=probing,
    )
    return LlamaBackbone.load(path, adapter, way.applied(task.options), notify)
