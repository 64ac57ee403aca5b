"""Backup, restore and verify: what one deployment holds as one file that either engine can take in."""
