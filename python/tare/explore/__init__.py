"""What `tare explore` shows of a recording: choices of a reader, sums by stack, and rows of its views. No terminal."""
