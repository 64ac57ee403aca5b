"""The client for blocking code: ordinary methods that run the async core on an event loop in a background thread.

`account.py`, `calls.py` and `service.py` are written by `make docs` from the core; `background.py` runs it.
"""
