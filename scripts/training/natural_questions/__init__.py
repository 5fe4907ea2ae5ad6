"""Natural questions with plans, made from authored tables and facts: see `build.py`."""
