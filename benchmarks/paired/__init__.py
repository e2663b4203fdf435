"""Two trees of the project over the workloads of the speed suite, in pairs that are adjacent in time."""
