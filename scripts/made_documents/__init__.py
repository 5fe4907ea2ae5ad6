"""A folder of made documents of every kind, with what stands where: invented facts, the same for the same seed."""
