"""Messages of the portal, and how they are sent."""
