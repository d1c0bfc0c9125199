"""The commands: one module for each. They do not import each other."""
