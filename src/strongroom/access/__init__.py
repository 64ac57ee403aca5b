"""Who may call at all: providers, their subscriptions and their API keys."""
