"""SQLite: one writer that commits many requests at once."""
