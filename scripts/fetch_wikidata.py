#!/usr/bin/env python3
"""Fetch a slice of Wikidata into this directory: `atomr fetch wikidata` under its old name, with the same options.

scripts/fetch_wikidata.py --text-index simple --site simplewiki
scripts/fetch_wikidata.py --entities ids.txt --to films.jsonl --languages en,de
"""

import sys

from atomr_local.cli.main import main

if __name__ == "__main__":
    main(["fetch", "wikidata", "--to", ".", *sys.argv[1:]])
