"""The pages of a bank in a browser: `attnbank explore`, and the folders of `attnbank publish`.

Both show the same views, which the modules of `page` draw from the records of `records`. `site`
serves them from an open bank (`endpoints` answers, `security` says whom, `request` holds the bank);
`publishing` writes them as files, and the modules of `published` ask DuckDB in the browser for the
rest. Nothing else in the package imports a web server.
"""
