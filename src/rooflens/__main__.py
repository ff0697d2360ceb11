"""`python -m rooflens` is the command line."""

from rooflens.cli import main

if __name__ == "__main__":
    main()
