"""Results of measurement tools (iperf3, iperf2, ping, fping, irtt): their series, and the run that a result is."""
