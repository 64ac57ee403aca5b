"""The server side of HTTP: sockets, the door, requests and answers, documents. Knows no area."""
