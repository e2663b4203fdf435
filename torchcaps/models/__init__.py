"""The networks of the papers, one paper a file."""
