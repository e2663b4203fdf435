"""A comparison of networks on any images: an artefact made from arguments, with an answer instead of claims.

`contest` says who competes in what, `entrants` chooses networks of about the same size, `hold` runs it as the bench
runs everything, `outcome` is what is left, `answer` says what follows and how surely, `page` shows it.
"""
