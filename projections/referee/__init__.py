"""What each provider refuses in a request, rule by rule, in the provider's own words.

It shares nothing with what makes requests (`onrecord.projections.requests`), so that each can be
held against the other.
"""
