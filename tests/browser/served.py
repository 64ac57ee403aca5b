"""`strongroom` as a program whose pages name their template, so that a tour knows what it has seen."""

from typing import Any

from strongroom.cli import main
from strongroom.portal import rendering

_render = rendering.render


def render(template: str, **values: Any) -> str:
    return _render(template, **values).replace("<body", f'<body data-template="{template}"', 1)


if __name__ == "__main__":
    rendering.render = render
    main()
