"""Traces as files: exported for people and for other installations, and read with every field checked."""
