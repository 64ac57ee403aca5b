"""Products, subscriptions and keys: the rules of what developers and the operator do with them."""
