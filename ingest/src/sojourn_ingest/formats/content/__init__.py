"""What formats share: content as text, JSON, YAML, native batches, and files read in parts."""
