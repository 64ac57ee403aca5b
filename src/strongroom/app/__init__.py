"""Puts the areas together: beside `backup` the only part that knows more than one of them."""

from strongroom.app.application import Application

__all__ = ["Application"]
