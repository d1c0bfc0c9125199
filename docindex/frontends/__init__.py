"""Front ends: the bytes of a file format in, its text out. One small module for each format."""
