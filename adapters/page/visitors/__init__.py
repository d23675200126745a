"""Who may look at the page: sessions, and signing in."""
