"""The bench: experiments that put the claims about capsules to the test."""
