"""Models on a server with OpenAI's protocol."""

from atomr_local.backbone.openai.backbone import OpenAIBackbone

__all__ = ["OpenAIBackbone"]
