"""Applications that embed docindex, frozen or in a zip file, and their tests."""
