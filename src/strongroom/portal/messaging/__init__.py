"""What the portal writes to people, and how it is sent."""
