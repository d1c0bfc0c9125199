"""What other programs find by themselves when docindex is installed: one module for each of them."""
