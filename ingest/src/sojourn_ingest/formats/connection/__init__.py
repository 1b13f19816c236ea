"""RTT of connections: polls, described tables, archives."""
