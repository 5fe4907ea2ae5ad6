"""Downloads, only on request: models, Wikipedias, facts from Wikidata.

`estimates` opens no connection. The other modules are imported only by commands that fetch, and by the fetch scripts.
"""
