"""A store of many recordings' sums: what is common, rare, new or worse over machines and builds."""
