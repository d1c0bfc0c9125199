"""File formats: bytes in, text out. One small module for each format."""
