"""Front ends: extract the text from the bytes of a file. Each file format has one small module."""
