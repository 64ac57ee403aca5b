"""Freezes what the service makes today: `python -m tests.frozen` writes `tests/frozen/data/<version>`.

Every later version opens these files in its tests. Run it once for a version, when no migration of it will change any
more; a folder that is there is never written again.
"""

import asyncio
import sys

from tests.frozen.freezing import DATA, ENGINES, freeze

from strongroom import __version__


def main() -> None:
    folder = DATA / __version__
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        sys.exit(f"{folder} is there already: what was frozen stays as it is")
    for engine in ENGINES:
        file = asyncio.run(freeze(engine, folder))
        print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
