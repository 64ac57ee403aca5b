"""How a page says no from the depth of its rules; the frame around it makes the answer."""


class Absent(Exception):
    """There is no such thing, or it is somebody else's: both look alike."""


class Forbidden(Exception):
    """The caller may see it and may not do this."""
