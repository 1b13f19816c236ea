#!/bin/sh
# Records the files of this folder on the loopback interface, with fping and iperf 2 of Debian 12. Each transfer of iperf 2 is
# told twice: as CSV by one end, which Sojourn reads, and as text by the other, with which the test compares.
set -eu
cd "$(dirname "$0")"

# A server of one UDP transfer does not end by itself; what it has said is in its file by then.
stop() {
    sleep 2
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
}

fping -D -c 12 -p 100 127.0.0.1 127.0.0.2 > fping.txt 2> fping-summary.txt

iperf -s -u -p 5301 -i 1 -y C > iperf2-udp-server.csv &
server=$!
sleep 1
iperf -c 127.0.0.1 -u -p 5301 -b 2M -t 3 -i 1 -f b > iperf2-udp-client.txt
stop

iperf -s -u -p 5301 -f b > iperf2-udp-server.txt &
server=$!
sleep 1
iperf -c 127.0.0.1 -u -p 5301 -b 2M -t 3 -i 1 -y C > iperf2-udp-client.csv
stop

iperf -s -p 5302 -f b > iperf2-tcp-server.txt &
server=$!
sleep 1
iperf -c 127.0.0.1 -p 5302 -b 20M -t 3 -i 1 -y C > iperf2-tcp-client.csv
stop
