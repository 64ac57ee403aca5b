"""PostgreSQL: few connections for many requests, in pipeline mode."""
