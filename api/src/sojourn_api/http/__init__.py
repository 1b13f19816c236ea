"""What HTTP offers beside a body: codings, revalidation, and responses that are kept for the next request."""
