"""The bench: every claim of five papers put to the test, with seeds, intervals and a verdict; and the demo."""
