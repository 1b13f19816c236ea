"""Video that a run carried: what arrived of a clip, decoded and compared with what was sent."""
