"""Data sets as plain arrays; none of these modules needs torch."""
