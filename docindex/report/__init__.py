"""Show what was found as a page for a browser."""
