"""`python -m atomr_local` is the `atomr` command."""

from atomr_local.cli.main import main

main()
