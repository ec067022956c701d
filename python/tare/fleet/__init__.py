"""A store of many recordings' sums: common, rare, new and worse waste over machines and builds."""
