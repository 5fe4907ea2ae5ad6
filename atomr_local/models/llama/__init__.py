"""GGUF models run in this process by llama.cpp."""

from atomr_local.models.llama.backbone import LlamaBackbone
from atomr_local.models.llama.engine import RunOptions

__all__ = ["LlamaBackbone", "RunOptions"]
