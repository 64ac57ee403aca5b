"""The developer portal: sign up, subscribe to a product, look after its keys, in a browser."""
