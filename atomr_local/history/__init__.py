"""Past questions, each with its whole trace: kept in SQLite, searched, exported, shared, deleted."""
