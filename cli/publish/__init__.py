"""`attnbank publish`: a bank as a folder that any file host serves, asked in the browser.

`publishing` makes the folder, `answers` and `sheets` what the pages show before DuckDB is there,
`bundle` finds the programs that go with it. `page` has the scripts; the views' templates, style and
colours are the explorer's, as is the server that shows a folder as a host would.
"""
