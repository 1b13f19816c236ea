#!/bin/bash
# Process 1 of the guest: loads each queue discipline in turn, sends ECN-capable TCP, UDP with ECT(1) and a ping through it, and prints on the
# serial line what tc says of it while packets pass and after they have passed, as JSON and, after they have passed, as text.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
# The kernel's own messages would stand between the lines.
echo 1 >/proc/sys/kernel/printk

insmod /veth.ko*
ip netns add far
ip link add near type veth peer name far0
ip link set far0 netns far
ip addr add 10.0.0.1/24 dev near
ip link set near up
ip netns exec far ip addr add 10.0.0.2/24 dev far0
ip netns exec far ip link set far0 up
ip netns exec far ip link set lo up
echo 1 >/proc/sys/net/ipv4/tcp_ecn
ip netns exec far sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_ecn'
# Offloads would make packets of 64 KiB, which no queue of 2 Mbit/s is meant for.
ip link set near gso_max_size 1514 gso_max_segs 1
ip netns exec far iperf3 -s -D
ip netns exec far iperf3 -s -p 5202 -D

say() { printf '@@%s\n' "$*"; }

poll() { # as the how-to on recording a queue says: the time, then what tc prints
  date +%s.%N
  tc -s -j qdisc show dev near
  date +%s.%N
  tc -s -j class show dev near
}

record() { # record NAME: the disciplines that are set
  iperf3 -c 10.0.0.2 -t 4 -P 2 >/dev/null 2>&1 &
  local load=$!
  ping -q -c 20 -i 0.2 -Q 0xb8 10.0.0.2 >/dev/null &
  local probe=$!
  # ECT(1), as L4S marks its packets, at a quarter of the rate and unresponsive.
  iperf3 -c 10.0.0.2 -p 5202 -u -b 500K -l 600 -S 1 -t 4 >/dev/null 2>&1 &
  local scalable=$!
  say "begin $1.txt"
  sleep 2
  poll
  wait $load $probe $scalable
  sleep 3
  poll
  say end
  say "begin $1.tc"
  tc -s qdisc show dev near
  tc -s class show dev near
  say end
  tc qdisc del dev near root
}

under_htb() { # under_htb NAME DISCIPLINE...: the discipline at the leaf of a class of 2 Mbit/s
  local name=$1
  shift
  tc qdisc add dev near root handle 1: htb default 10 &&
    tc class add dev near parent 1: classid 1:1 htb rate 2mbit ceil 2mbit &&
    tc class add dev near parent 1:1 classid 1:10 htb rate 1mbit ceil 2mbit &&
    tc qdisc add dev near parent 1:10 handle 10: "$@" && record "$name"
}

at_root() {
  local name=$1
  shift
  tc qdisc add dev near root handle 1: "$@" && record "$name"
}

say "begin versions"
uname -r
tc -V
say end
under_htb pie pie ecn target 5ms
under_htb fq_pie fq_pie ecn target 5ms
under_htb red red limit 60000 min 3000 max 9000 avpkt 1000 burst 4 ecn bandwidth 2mbit
under_htb fq fq ce_threshold 5ms
under_htb codel codel ecn
under_htb fq_codel fq_codel ecn
at_root cake-besteffort cake bandwidth 2mbit besteffort
at_root cake-diffserv3 cake bandwidth 2mbit diffserv3 ack-filter
at_root cake-diffserv4 cake bandwidth 2mbit diffserv4 autorate-ingress
at_root cake-diffserv8 cake bandwidth 2mbit diffserv8
at_root cake-precedence cake bandwidth 2mbit precedence
if insmod /sch_dualpi2.ko 2>/dev/null || modprobe -q sch_dualpi2; then
  under_htb dualpi2 dualpi2 target 15ms
fi
say finished
echo o >/proc/sysrq-trigger
sleep 60
