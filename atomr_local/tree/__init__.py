"""The Atomic Reasoning Tree: nodes, the two notations, references and validation. Standard library only."""
