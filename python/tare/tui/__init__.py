"""Screens that stay: what needs textual (`pip install 'heaptare[top]'`). Nothing else imports it."""
