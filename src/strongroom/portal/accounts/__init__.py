"""Who may come in: developers, their sessions and links, second factors and passkeys."""
