"""One module per command. None imports anything heavy before its command runs."""
