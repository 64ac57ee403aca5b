"""Plumbing that knows no area: storage, the door, credentials, logging, settings."""
