"""What is to be kept, and until when: legal holds and retention classes, from what operators recorded."""
