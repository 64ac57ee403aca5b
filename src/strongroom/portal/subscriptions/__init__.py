"""Products, subscriptions and keys: the rules for developers and the operator."""
