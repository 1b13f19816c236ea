#!/bin/sh
# Records the files of this folder on the loopback interface, with ping, fping, iperf 2 and iperf3 of Debian 12. Each transfer of iperf 2 is
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

# iperf3 through a token bucket of 20 Mbit/s, in a network of its own (as root): one flow each way, two one way, and one each way at once. Both
# ways of the loopback interface share the queue. What names the machine is left out.
record_iperf3() {
    name=$1
    shift
    unshare -n sh -c '
        ip link set lo mtu 1500 up
        tc qdisc add dev lo root tbf rate 20mbit burst 131072 limit 125000
        iperf3 -s -1 > /dev/null &
        sleep 1
        iperf3 -c 127.0.0.1 -J -t 5 -T "qdisc:bfifo rate:20Mbit rep:1" "$@"
        wait
    ' sh "$@" | python3 -c '
import json, sys
result = json.load(sys.stdin)
result["start"]["system_info"] = "Linux"
print(json.dumps(result, separators=(",", ":")))
' > "iperf3-$name.json"
}

record_iperf3 solo
record_iperf3 solo-down -R
record_iperf3 two -P 2
record_iperf3 ways --bidir

# UDP on the loopback interface alone.
record_udp() {
    name=$1
    shift
    iperf3 -s -1 -p 15201 > /dev/null &
    sleep 1
    iperf3 -c 127.0.0.1 -p 15201 -u -J -t 2 "$@" | python3 -c '
import json, sys
result = json.load(sys.stdin)
result["start"]["system_info"] = "Linux"
print(json.dumps(result, separators=(",", ":")))
' > "iperf3-udp-$name.json"
    wait
}

record_udp down -R -b 5M
record_udp two -P 2 -b 2M
record_udp ways --bidir -b 2M

ping -D -O -p 0f -c 3 -i 0.2 127.0.0.1 > ping-DOp.txt
ping -A -c 3 127.0.0.1 > ping-A.txt
ping -6 -D -c 2 -i 0.2 ::1 > ping-6D.txt
