"""The classification data that ships with Strongroom: one file per scheme, and the pictures of their nodes."""
