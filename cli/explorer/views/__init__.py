"""The pages: each module has a function that makes one of a visit, and raises what it cannot do."""
