"""A code editor: Monaco, or CodeMirror on phones."""
