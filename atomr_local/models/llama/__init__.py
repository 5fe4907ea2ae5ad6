"""GGUF models run in this process by llama.cpp."""

from atomr_local.models.llama.backbone import LlamaBackbone

__all__ = ["LlamaBackbone"]
