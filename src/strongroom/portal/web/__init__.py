"""What every page stands on: the frame, forms, cookies, templates and charts."""
