"""`python -m tare`: the same as the command `tare`."""

import sys

from tare.cli import main

if __name__ == "__main__":
    sys.exit(main())
