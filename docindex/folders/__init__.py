"""Folders on disk: walking them, keeping an index of them, and tidying them up."""
