"""Word what a person reads - a group, a match, a passage - once, for the command, the report and pages."""
