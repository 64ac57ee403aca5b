"""The floor: the barest ASGI application that does the same SQL with the same driver on the same server.

No routing table, no validation, no problem documents, no log, no limits: what a request costs below this is the HTTP
server's, the driver's, the database's and the cryptography's.
"""
