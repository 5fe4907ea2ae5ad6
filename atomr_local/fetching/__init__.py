"""Fetching what the program can use from the net, at the user's word alone: models, Wikipedias, slices of Wikidata.

`estimates` opens no connection. The other modules are imported only by commands that fetch, and by the fetch scripts.
"""
