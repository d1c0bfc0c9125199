"""Front ends for files of office programs and for books, all of them XML in zip files."""
