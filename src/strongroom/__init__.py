"""Strongroom: a key store and data vault whose operator cannot read what it keeps."""
