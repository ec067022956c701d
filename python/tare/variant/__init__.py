"""D-Bus messages from packet captures."""
