"""`python -m strongroom.cli`, the same as the program `strongroom`."""

from strongroom.cli import main

main()
