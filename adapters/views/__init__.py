"""Where the rows of views are kept, who keeps them up to date, and how they are read."""
