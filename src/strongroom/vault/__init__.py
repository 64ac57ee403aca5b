"""The vault area: users known by a public key, their sessions, and the classification nodes (spec: vault 10 to 12)."""
