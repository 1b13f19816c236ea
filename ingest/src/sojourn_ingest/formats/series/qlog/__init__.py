"""qlog: what the end points of QUIC connections logged (draft-ietf-quic-qlog-main-schema)."""
