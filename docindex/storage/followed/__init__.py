"""Tables of an app in the same file that an index follows."""
