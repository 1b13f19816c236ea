"""What quality tools write beside a run: scores of frames, and page loads, which all become tool_score."""
