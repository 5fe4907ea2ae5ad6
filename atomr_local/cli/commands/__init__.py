"""The command groups, one file each."""
