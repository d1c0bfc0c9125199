"""Front ends: a source in, the symbols that stand for it out."""
