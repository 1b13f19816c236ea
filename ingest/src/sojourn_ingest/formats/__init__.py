"""One module per input format; ``recognise`` finds the one a content belongs to."""
