"""The Filter operator: whether an entity satisfies a condition."""
