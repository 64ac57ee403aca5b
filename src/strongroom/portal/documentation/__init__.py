"""The API reference: read from the OpenAPI document, with examples."""
