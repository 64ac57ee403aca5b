"""Accounts: developers, their sessions and links, second factors and passkeys."""
