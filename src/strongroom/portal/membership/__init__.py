"""Organisations: who belongs to them, who is invited, what was done in them, and their end."""
