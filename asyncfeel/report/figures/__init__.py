"""The figures of a report for a paper: PNG, PDF and SVG, drawn by matplotlib."""
