"""The client: registration, unlocking and the single calls, for blocking code and for asyncio."""
