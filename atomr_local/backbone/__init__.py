"""Language models: what all of them are asked and answer, and the two ways to run one."""
