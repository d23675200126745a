"""What a store does for a subject: find its conversations, hand them out, and erase them by its key."""
