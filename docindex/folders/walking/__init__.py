"""Walk folders: the files below a root, what is left out, and safe ways to open and read a file."""
