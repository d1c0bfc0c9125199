"""The rooms that read and write the file. No other room knows SQL."""
