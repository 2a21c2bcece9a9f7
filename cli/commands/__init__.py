"""The commands, grouped into modules that import nothing heavy until a command runs."""
