"""`atomr fetch` and `atomr models pull`."""
