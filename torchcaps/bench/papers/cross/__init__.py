"""Beyond the papers: what nobody has put side by side."""
