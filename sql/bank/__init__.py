"""Opens the file of a bank to read or write it, also by URL; compacts it."""
