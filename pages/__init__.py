"""Pages and parts of pages that programs write: `python -m pages` writes them all, `pages.links` checks the site."""
