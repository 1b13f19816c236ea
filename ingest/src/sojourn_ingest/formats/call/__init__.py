"""What WebRTC reports of its calls: rows of call_poll, from the three forms in which its statistics are saved."""
