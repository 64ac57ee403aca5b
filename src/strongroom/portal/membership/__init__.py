"""Organisations: members, invitations, activity, and closing."""
