"""The trial of a model in a process of its own, before it is loaded into this one."""
