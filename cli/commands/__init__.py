"""One module a command. None imports anything heavy before its command runs."""
