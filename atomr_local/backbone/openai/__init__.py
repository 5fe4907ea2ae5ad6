"""Models behind a server that speaks OpenAI's protocol."""

from atomr_local.backbone.openai.backbone import OpenAIBackbone

__all__ = ["OpenAIBackbone"]
