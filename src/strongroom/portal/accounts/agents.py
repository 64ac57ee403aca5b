"""Names of browsers: a user agent header as a few words that its owner recognises."""

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def describe(agent: str) -> str:
    """`Firefox on Linux`; a name that says nothing known is `An unknown browser`."""
    # The order matters: nearly all of them also claim to be Safari, and Android to be Linux.
    browser = next((name for mark, name in _BROWSERS if mark in agent), "An unknown browser")
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    return browser if system is None else f"{browser} on {system}"
