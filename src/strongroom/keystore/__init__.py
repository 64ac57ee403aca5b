"""The key store: a user's keys and secrets, each in encrypted form."""
