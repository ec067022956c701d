"""Interactive screens, which need textual (`pip install 'heaptare[top]'`). Nothing else imports it."""
