"""What a run folder looks like: pages, figures, timelines and exports; it reads folders only."""
