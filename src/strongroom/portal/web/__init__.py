"""What every page uses: the frame, forms, cookies, templates and charts."""
