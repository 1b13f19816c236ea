"""Made-up measurements whose truth is known, labelled synthetic in every row."""
