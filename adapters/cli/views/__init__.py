"""The commands of views: what they list, who did and read what, how they are kept up to date."""
