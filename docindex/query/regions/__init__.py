"""Find what two texts have in common, and where: passages, reworded regions, and the words that differ."""
