"""Reports of the audit as files: a page to print, lines of JSON, or Parquet."""
