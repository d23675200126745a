"""What callers hand over, validated where it enters: texts, versions, documents."""
