"""The trial of a model in a child process before it is loaded into this one."""
