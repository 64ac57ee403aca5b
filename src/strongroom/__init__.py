"""Strongroom: a key store and data vault whose operator cannot read what it keeps."""

__version__ = "0.1.0"
