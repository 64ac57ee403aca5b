"""The contract, written once: records, endpoints and refusals that server and client share."""
