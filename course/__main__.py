"""Run `python3 -m course COMMAND` from a fresh clone, with nothing installed, on any Python."""

import sys
from pathlib import Path

from course import environment


def main():
    root = Path(__file__).resolve().parent.parent
    arguments = sys.argv[1:]
    try:
        environment.check_python()
        from course.cli import parse, run

        chosen = parse(arguments)  # before the set-up, so that a mistyped command installs nothing
        environment.enter(root, arguments)
    except environment.SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    return run(chosen, root)


if __name__ == "__main__":
    sys.exit(main())
