"""Write the copies and similar texts of an index as an HTML page."""
