"""Makes questions that need a text index and a graph index, from the indexes themselves.

    text index, graph index → candidates (two facts that share an entity) → composed → filtered → a line for each kept

Nothing in here reads a question set, and nothing answers questions but `atomr_local.Assistant`.
"""
