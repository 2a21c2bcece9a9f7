"""Pictures: frames in, text out; no SQL and no files."""
