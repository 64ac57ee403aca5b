"""What every part runs on: settings, the server secret, time, ids, credentials, logs."""
