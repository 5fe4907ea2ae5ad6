"""Reasoning plans as training targets: from gold evidence, published decompositions and our own questions."""
