"""`attnbank report`: lays the sections out as one self-contained HTML page."""
