"""What developing needs and the product does not: generated pages, a PostgreSQL server for tests."""
