"""The experiments behind `torchcaps demo`: digits in minutes, and the sign of a number in one."""
