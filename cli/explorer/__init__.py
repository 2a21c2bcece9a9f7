"""`attnbank explore`: read-only pages on a bank, in a browser on the same machine.

`site` has the addresses and opens the port, `security` says who is answered, `bank_cache` holds the
open bank, `heads`, `head`, `sentences` and `tables` fill the pages, and `templates` and `static`
are what they look like. Nothing else in the package imports a web server.
"""
