"""``docindex review``: what it shows, the keys, and one review at a terminal."""
