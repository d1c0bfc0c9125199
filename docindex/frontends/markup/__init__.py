"""Front ends for text with marks: web pages, Markdown, LaTeX, RTF, notebooks, subtitles and values."""
