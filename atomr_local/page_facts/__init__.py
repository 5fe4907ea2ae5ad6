"""Facts that the pages of a text index state: pages, how relations are asked for, and what is read from passages."""
