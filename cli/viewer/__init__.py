"""The pages of a bank in a browser: records of it as JSON, and the modules that draw them."""
