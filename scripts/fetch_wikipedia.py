#!/usr/bin/env python3
"""Fetch a Wikipedia into this directory: `atomr fetch wikipedia` under its old name, with the same options.

scripts/fetch_wikipedia.py                                  Simple English, an estimated 350 MB
scripts/fetch_wikipedia.py --language en --max-size 1GB     as much of the English one as fits
scripts/fetch_wikipedia.py --language de --kind parquet --to ~/wikipedia
"""

import sys

from atomr_local.cli.main import main

if __name__ == "__main__":
    main(["fetch", "wikipedia", "--to", ".", *sys.argv[1:]])
