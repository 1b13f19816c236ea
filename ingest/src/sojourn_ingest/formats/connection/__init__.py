"""RTT of connections: polls, snapshots, described tables, archives."""
