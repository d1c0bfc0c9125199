"""What was found as a page for a browser."""
