"""The Relate operator: one hop from an entity."""
