"""Reports about watched processes."""
