"""Models on a server with OpenAI's protocol."""

from atomr_local.models.openai.backbone import OpenAIBackbone

__all__ = ["OpenAIBackbone"]
