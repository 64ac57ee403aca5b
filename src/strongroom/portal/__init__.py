"""The developer portal: sign up, subscribe to a product, manage its keys, in a browser."""
