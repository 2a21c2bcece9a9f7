"""Opens the file of a bank to read, write or upgrade it, also by URL; compacts it."""
