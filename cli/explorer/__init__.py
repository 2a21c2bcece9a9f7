"""The explorer: pages on a bank for a browser on the same machine, which read and never write.

`serving` opens the port, `site` has the addresses, `security` says who is answered, `desk` holds
the open bank, `views` make the pages, and `templates` and `static` are what they look like. Nothing
else in the package imports a web server.
"""
