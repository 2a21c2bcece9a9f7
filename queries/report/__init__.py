"""`attnbank report`: the analyses of papers on a bank, beside published figures, as HTML."""
