"""Refusals of the portal: a rule raises one, and the frame makes the answer."""


class Absent(Exception):
    """The object does not exist, or it belongs to another organisation: the answer is the same."""


class Forbidden(Exception):
    """The caller may see the object and may not do this."""
