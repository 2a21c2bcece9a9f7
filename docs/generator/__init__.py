"""Generates pages of the docs, their pictures, and the map in CONTRIBUTING.md."""
