"""Greatest lengths of texts that users enter: shared by the rules and the fields of the pages."""

MAX_NAME = 80
"""Of a developer, an organisation, a subscription or a key, in characters."""
MAX_PASSKEY_NAME = 60
MAX_REASON = 160
"""Of the 200 characters of a line of the audit."""
MIN_PASSWORD = 12
