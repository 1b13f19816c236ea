"""Outputs of tools that no reader takes, written after the sources and documents of the tools, not recorded."""

from __future__ import annotations

import json

from tool_results import iperf3

#: What each reason begins with: outputs that get it.
OUTPUTS: dict[str, dict[str, str]] = {
    "mtr's table": {
        "mtr --csv": (
            "Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,Snt, ,Last,Avg,Best,Wrst,StDev,\n"
            "MTR.0.95,1700000000,OK,example.org,1,192.0.2.1,0.00,10,0,0.31,0.35,0.28,0.52,0.07\n"
            "MTR.0.95,1700000000,OK,example.org,2,192.0.2.9,0.00,10,0,9.31,9.35,9.28,9.52,0.07\n"
        ),
        "mtr --csv of 0.85": (
            "MTR.0.85;1700000000;OK;example.org;1;192.0.2.1;314\nMTR.0.85;1700000000;OK;example.org;2;192.0.2.9;9314\n"
        ),
    },
    "mtr's report": {
        "mtr --report": (
            "Start: 2023-11-14T22:13:20+0000\n"
            "HOST: laptop                       Loss%   Snt   Last   Avg  Best  Wrst StDev\n"
            "  1.|-- 192.0.2.1                  0.0%    10    0.3   0.4   0.3   0.5   0.1\n"
        ),
        "mtr --report of old": (
            "HOST: laptop                       Loss%   Snt   Last   Avg  Best  Wrst StDev\n"
            "  1.|-- 192.0.2.1                  0.0%    10    0.3   0.4   0.3   0.5   0.1\n"
        ),
    },
    "mtr's output for programs": {
        "mtr --raw": ("h 0 192.0.2.1\np 0 312 33000\nx 0 33000\nh 1 192.0.2.9\np 1 9312 33001\n"),
        "mtr --xml": (
            '<?xml version="1.0"?>\n'
            '<MTR SRC="laptop" DST="example.org" TOS="0" PSIZE="64" BITPATTERN="0x00" TESTS="10">\n'
            '    <HUB COUNT="1" HOST="192.0.2.1">\n'
        ),
    },
    "netperf's text": {
        "netperf": (
            "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.9 () port 0 AF_INET : demo\n"
            "Recv   Send    Send                          \n"
            "Socket Socket  Message  Elapsed              \n"
            "Size   Size    Size     Time     Throughput  \n"
            "bytes  bytes   bytes    secs.    10^6bits/sec  \n"
            "\n"
            "131072  16384  16384    10.00     941.42   \n"
        ),
        "netperf rr": (
            "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.9\n"
            "Local /Remote\n"
            "Socket Size   Request  Resp.   Elapsed  Trans.\n"
        ),
        "netperf omni": ("OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.9 () port 0 AF_INET\n"),
        "netperf -D": (
            "Interim result:  941.32 10^6bits/s over 0.200 seconds ending at 1700000000.200\n"
            "Interim result:  941.42 10^6bits/s over 0.200 seconds ending at 1700000000.400\n"
        ),
    },
    "netperf's table": {
        "netperf -k": ("THROUGHPUT=941.42\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.00\n"),
        "netperf -o": ("Throughput,Throughput Units,Elapsed Time (sec)\n941.42,10^6bits/s,10.00\n"),
        "netperf -o, time first": ("Elapsed Time (sec),Throughput,Throughput Units\n10.00,941.42,10^6bits/s\n"),
    },
    "output of owping or twping": {
        "owping": (
            "Approximately 13.1 seconds until results available\n"
            "\n"
            "--- owping statistics from [laptop]:8760 to [example.org]:8883 ---\n"
            "SID:\tc0000201e9a1b2c3d4e5f60718293a4b\n"
            "first:\t2023-11-14T22:13:20.123\n"
            "last:\t2023-11-14T22:13:30.456\n"
            "100 sent, 0 lost (0.000%), 0 duplicates\n"
            "one-way delay min/median/max = 9.8/10.1/12.3 ms, (err=0.5 ms)\n"
        ),
        "twping": (
            "Approximately 13.1 seconds until results available\n"
            "\n"
            "--- twping statistics from [laptop]:8760 to [example.org]:8883 ---\n"
            "SID:\tc0000201e9a1b2c3d4e5f60718293a4b\n"
        ),
        "owping -v": ("seq_no=0  delay=9.84 ms\t(sync, err=0.5 ms)\t sent=1700000000.123\n"),
        "owping -R": ("0 16890220800000000000 1 3.1e-05 16890220800100000000 1 3.1e-05 255\n"),
        "owstats -M": ("SUMMARY\t3.00\nSID\tc0000201\nFROM_HOST\tlaptop\nFROM_ADDR\t192.0.2.1\n"),
    },
    "psping's text": {
        "psping icmp": (
            "\n"
            "PsPing v2.12 - PsPing - ping, latency, bandwidth measurement utility\n"
            "Copyright (C) 2012-2023 Mark Russinovich\n"
            "Sysinternals - www.sysinternals.com\n"
            "\n"
            "Pinging 192.0.2.1 with 32 bytes of data:\n"
            "5 iterations (warmup 1) ping test:\n"
            "Reply from 192.0.2.1: 1.49ms\n"
            "Reply from 192.0.2.1: 1.62ms\n"
            "\n"
            "Ping statistics for 192.0.2.1:\n"
            "  Sent = 4, Received = 4, Lost = 0 (0% loss),\n"
            "  Minimum = 1.49ms, Maximum = 1.62ms, Average = 1.55ms\n"
        ),
        "psping icmp without banner": (
            "C:\\>psping -nobanner 192.0.2.1\n"
            "Pinging 192.0.2.1 with 32 bytes of data:\n"
            "5 iterations (warmup 1) ping test:\n"
            "Reply from 192.0.2.1: 1.49ms\n"
            "\n"
            "Ping statistics for 192.0.2.1:\n"
            "  Sent = 4, Received = 4, Lost = 0 (0% loss),\n"
        ),
        "psping tcp": (
            "\n"
            "PsPing v2.10 - PsPing - ping, latency, bandwidth measurement utility\n"
            "Copyright (C) 2012-2016 Mark Russinovich\n"
            "Sysinternals - www.sysinternals.com\n"
            "\n"
            "TCP connect to 192.0.2.1:443:\n"
            "5 iterations (warmup 1) ping test:\n"
            "Connecting to 192.0.2.1:443 (warmup): from 10.0.0.2:50123: 12.30ms\n"
            "Connecting to 192.0.2.1:443: from 10.0.0.2:50124: 12.41ms\n"
            "\n"
            "TCP connect statistics for 192.0.2.1:443:\n"
            "  Sent = 4, Received = 4, Lost = 0 (0% loss),\n"
            "  Minimum = 12.30ms, Maximum = 12.41ms, Average = 12.35ms\n"
        ),
    },
    "hrPING's text": {
        "hrping": (
            "This is hrPING v5.07 by cFos Software GmbH -- http://www.cfos.de\n"
            "\n"
            "Source address is 10.0.0.2; using ICMP echo-request, ID=9c0f\n"
            "Pinging example.org [192.0.2.1]\n"
            "with 32 bytes data (60 bytes IP):\n"
            "\n"
            "From 192.0.2.1: bytes=60 seq=0001 TTL=57 ID=1a2b time=9.871ms\n"
            "From 192.0.2.1: bytes=60 seq=0002 TTL=57 ID=1a2c time=9.912ms\n"
            "\n"
            "Packets: sent=2, rcvd=2, error=0, lost=0 (0.0% loss) in 0.500200 sec\n"
            "RTTs in ms: min/avg/max/dev: 9.871 / 9.891 / 9.912 / 0.020\n"
            "Bandwidth in kbytes/sec: sent=0.239, rcvd=0.239\n"
        ),
        "hrping behind a prompt": (
            "C:\\>hrping 192.0.2.1\n"
            "This is hrPING v5.07 by cFos Software GmbH -- http://www.cfos.de\n"
            "Source address is 10.0.0.2; using ICMP echo-request, ID=9c0f\n"
            "Pinging 192.0.2.1 [192.0.2.1]\n"
            "with 32 bytes data (60 bytes IP):\n"
            "From 192.0.2.1: bytes=60 seq=0001 TTL=57 ID=1a2b time=9.871ms\n"
            "Packets: sent=2, rcvd=2, error=0, lost=0 (0.0% loss) in 0.500200 sec\n"
        ),
    },
    "nping's text": {
        "nping": ("\nStarting Nping 0.7.93 ( https://nmap.org/nping ) at 2023-11-14 22:13 UTC\nSENT (0.0368s) ICMP\n"),
    },
    "tcping's text": {
        "tcping": ("\nProbing 192.0.2.1:443/tcp - Port is open - time=9.871ms \n"),
    },
    "ping's output converted by jc": {
        "jc of ping": ('{"destination_ip": "192.0.2.1", "packets_transmitted": 3, "responses": []}'),
    },
    "traceroute's text": {
        "tracert in German": (
            "\nRoutenverfolgung zu example.org [192.0.2.9]\nüber maximal 30 Hops:\n\n"
            "  1    <1 ms    <1 ms    <1 ms  192.0.2.1\n  2     9 ms     *        9 ms  192.0.2.9\n"
        ),
        "tracepath": (
            " 1?: [LOCALHOST]                      pmtu 1500\n"
            " 1:  _gateway                                              0.512ms \n"
        ),
        "traceroute": "traceroute to example.org (192.0.2.9), 30 hops max, 60 byte packets\n 1  192.0.2.1  0.3 ms\n",
        "traceroute, error": "traceroute: unknown host example.org\n",
        "pathping": ("\r\nTracing route to example.org [192.0.2.1]\r\nover a maximum of 30 hops:\r\n"),
    },
    "libvmaf's summary of a clip": {
        "vmafossexec": ("Start calculating VMAF score...\nExec FPS: 98.4\nVMAF score = 86.123456\n"),
        "vmaf 2": ("VMAF version 2.3.1\n48 frames ⠀⠩ 35.01 FPS\nvmaf_v0.6.1: 86.123456\noutput written to a.xml\n"),
        "vmaf 2, without its banner": ("48 frames 35.01 FPS\nvmaf_v0.6.1: 86.123456\n"),
    },
    "libvmaf's per-frame text": {
        "vmafossexec, frames": ("Frame 0: adm2:0.9, motion2:0.0, vif_scale0:0.4, vmaf:86.1\nFrame 1: adm2:0.9\n"),
    },
    "nuttcp's text": {
        "nuttcp": (
            "   56.0625 MB /   1.00 sec =  470.2662 Mbps     0 retrans   1100 KB-cwnd\n"
            "   56.1250 MB /   1.00 sec =  470.8200 Mbps     0 retrans\n"
            "\n"
            "  560.9375 MB /  10.01 sec =  470.1123 Mbps 4 %TX 9 %RX 0 retrans 12.34 msRTT\n"
        ),
        "nuttcp -fparse": ("megabytes=1129.1875 real_seconds=10.00 rate_Mbps=946.8654 tx_cpu=9 rx_cpu=8 retrans=0\n"),
        "nuttcp -v": ("nuttcp-t: v8.1.4: socket\nnuttcp-t: buflen=65536, nstream=1, port=5101 tcp -> 192.0.2.9\n"),
    },
    "text of sockperf or qperf": {
        "sockperf": (
            "sockperf: == version #3.7-no.git == \n"
            "sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)\n"
        ),
        "qperf": ("tcp_bw:\n    bw  =  1.18 GB/sec\n"),
    },
    "iperf3's text": {
        "iperf3, cut": (
            "[  5] local 10.0.0.2 port 40000 connected to 192.0.2.9 port 5201\n"
            "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
            "[  5]   0.00-1.00   sec   112 MBytes   941 Mbits/sec    0    400 KBytes\n"
        ),
    },
    "text of iperf": {
        "iperf, cut": ("[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"),
    },
    "flent's summary": {
        "flent summary": (
            "Summary of rrul test run from 2023-11-14 22:13:20\n"
            "  Title: 'x'\n"
            "\n"
            "                             avg       median          # data pts\n"
            " Ping (ms) ICMP   :        20.31        20.20 ms              350\n"
        ),
    },
    "bwm-ng's interface counters": {
        "bwm-ng csv": (
            "1700000000;eth0;1234.56;2345.67;3580.23;1234;2345;10.00;11.00;21.00;10;11;0.00;0.00;0;0\n"
            "1700000000;total;1234.56;2345.67;3580.23;1234;2345;10.00;11.00;21.00;10;11;0.00;0.00;0;0\n"
        ),
        "bwm-ng plain": (
            "  bwm-ng v0.6.3 (probing every 0.500s), press 'h' for help\n"
            "  input: /proc/net/dev type: rate\n"
            "  \\         iface                   Rx                   Tx                Total\n"
            "  ==============================================================================\n"
            "             eth0:           1.23 KB/s            2.34 KB/s            3.57 KB/s\n"
        ),
    },
    "ethtool's interface counters": {
        "ethtool": ("NIC statistics:\n     rx_packets: 123456\n     tx_packets: 234567\n     rx_bytes: 1234567\n"),
        "ethtool json": ('[{"ifname":"eth0","rx_packets":1234}]'),
    },
    "text of sysstat": {
        "sar": (
            "Linux 6.1.0 (laptop) \t11/14/23 \t_x86_64_\t(4 CPU)\n"
            "\n"
            "22:13:20        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s\n"
        ),
        "mpstat": (
            "Linux 6.1.0 (laptop) \t11/14/23 \t_x86_64_\t(4 CPU)\n"
            "\n"
            "22:13:20     CPU    %usr   %nice    %sys %iowait    %irq   %soft\n"
        ),
    },
    "the system's interface counters": {
        "ip -s link": (
            "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP\n"
            "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n"
            "    RX:  bytes packets errors dropped  missed   mcast\n"
        ),
    },
    "tc's text": {
        "tc without a time": (
            "qdisc fq_codel 8001: root refcnt 2 limit 10240p flows 1024 quantum 1514\n"
            " Sent 1234 bytes 12 pkt (dropped 0, overlimits 0 requeues 0)\n"
            " backlog 0b 0p requeues 0\n"
        ),
        "tc after date": (
            "Tue Nov 14 22:13:20 UTC 2023\n"
            "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p\n"
            " Sent 1234 bytes 12 pkt (dropped 0, overlimits 0 requeues 0)\n"
        ),
        "tc deleted": ("deleted qdisc fq_codel 8001: dev eth0 root\nqdisc fq_codel 8001: dev eth0 root\n"),
        "tc class": (
            "class htb 1:10 root leaf 10: prio 0 rate 10Mbit ceil 10Mbit burst 1600b cburst 1600b\n"
            " Sent 1234 bytes 12 pkt (dropped 0, overlimits 0 requeues 0)\n"
        ),
        "tc filter": ("filter parent 1: protocol ip pref 1 u32 chain 0\n"),
    },
    "text of netstat or ss -s": {
        "ss -s": (
            "Total: 200\nTCP:   9 (estab 5, closed 1, orphaned 0, timewait 1)\n\nTransport Total     IP        IPv6\n"
        ),
        "netstat": (
            "Active Internet connections (w/o servers)\n"
            "Proto Recv-Q Send-Q Local Address           Foreign Address         State      \n"
            "tcp        0      0 10.0.0.2:22      10.0.0.9:52344      ESTABLISHED\n"
        ),
    },
    "tcpdump's text": {
        "tcpdump": ("22:13:20.123456 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.], seq 1, ack 1, win 65535, length 0\n"),
        "tcpdump -tttt": ("2023-11-14 22:13:20.123456 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.], seq 1\n"),
        "tcpdump -tt": ("1700000000.123456 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.], seq 1, ack 1\n"),
        "tcpdump -t": ("IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.], seq 1, ack 1, win 65535, length 0\n"),
        "tcpdump -ttt": (" 00:00:00.000000 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.], seq 1\n"),
        "tcpdump -i any": ("22:13:20.123456 eth0  In  IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.], seq 1\n"),
        "tcpdump -e": (
            "22:13:20.123456 02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype IPv4 (0x0800), length 74: x\n"
        ),
        "tcpdump of nanoseconds": ("22:13:20.123456789 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.]\n"),
        "tcpdump with its errors": (
            "tcpdump: verbose output suppressed, use -v[v]... for full protocol decode\n"
            "listening on eth0, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n"
            "22:13:20.123456 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.]\n"
        ),
        "tcpdump -r": (
            "reading from file a.pcap, link-type EN10MB (Ethernet), snapshot length 262144\n"
            "22:13:20.123456 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.]\n"
        ),
        "tcpdump --number": ("    1  22:13:20.123456 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S.]\n"),
        "tcpdump -v": (
            "22:13:20.123456 IP (tos 0x0, ttl 64, id 1, offset 0, flags [DF], proto TCP (6), length 60)\n"
            "    10.0.0.1.443 > 10.0.0.2.5000: Flags [S.]\n"
        ),
        "tcpdump of Wi-Fi": ("22:13:20.123456 2412 MHz 11g -42dBm signal Beacon (x) [1.0* 2.0*]\n"),
    },
    "tshark's text": {
        "tshark": (
            "    1   0.000000 10.0.0.1 → 10.0.0.2 TCP 74 443 → 5000 [SYN, ACK] Seq=0 Ack=1 Win=65535 Len=0\n"
            "    2   0.010000 10.0.0.2 → 10.0.0.1 TCP 66 5000 → 443 [ACK]\n"
        ),
        "tshark ascii": ("  1   0.000000    10.0.0.1 -> 10.0.0.2     TCP 74 443 > 5000 [SYN, ACK] Seq=0\n"),
        "tshark -V": (
            "Frame 1: 74 bytes on wire (592 bits), 74 bytes captured (592 bits) on interface eth0, id 0\n"
            "    Section number: 1\n"
        ),
        "tshark Capturing": ("Capturing on 'eth0'\n    1 0.000000000 10.0.0.1 → 10.0.0.2 TCP 74\n"),
        "tshark -z io,stat": (
            "\n"
            "===================================\n"
            "| IO Statistics                   |\n"
            "|                                 |\n"
            "| Duration: 10.0 secs             |\n"
        ),
        "tshark -z conv": (
            "================================================================================\n"
            "TCP Conversations\n"
            "Filter:<No Filter>\n"
        ),
    },
    "tshark's table of fields": {
        "tshark -T fields -E separator=,": (
            "frame.number,frame.time_epoch,ip.src,ip.dst,frame.len\n1,1700000000.123,10.0.0.1,10.0.0.2,74\n"
        ),
        "tshark -T fields": ("frame.time_epoch\tip.src\ttcp.analysis.ack_rtt\n1700000000.123\t10.0.0.1\t0.01\n"),
    },
    "tshark's list": {
        "tshark -T json": ('[{"_index": "packets-2023-11-14", "_type": "doc", "_source": {"layers": {"frame": {}}}}]'),
        "tshark -T ek": (
            '{"index": {"_index": "packets-2023-11-14", "_type": "doc"}}\n'
            '{"timestamp": "1700000000123", "layers": {"frame": {}}}\n'
        ),
        "tshark -T pdml": (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            '<?xml-stylesheet type="text/xsl" href="pdml2html.xsl"?>\n'
            "<!-- You can find -->\n"
            '<pdml version="0" creator="wireshark/4.0.6" time="Tue" capture_file="a.pcap">\n'
        ),
        "tshark -T psml": ('<?xml version="1.0" encoding="utf-8"?>\n<psml version="0" creator="wireshark/4.0.6">\n'),
    },
    "Wireshark's list": {
        "Wireshark's conversations": (
            '"Address A","Port A","Address B","Port B","Packets","Bytes","Stream ID"\n'
            '"10.0.0.1","443","10.0.0.2","5000","9","900","0"\n'
        ),
        "Wireshark's text": (
            "No.     Time           Source                Destination           Protocol Length Info\n"
            "      1 0.000000       10.0.0.1              10.0.0.2              TCP      74     443\n"
        ),
        "Wireshark's table": (
            '"No.","Time","Source","Destination","Protocol","Length","Info"\n'
            '"1","0.000000","10.0.0.1","10.0.0.2","TCP","74","443"\n'
        ),
    },
    "tcptrace's text": {
        "tcptrace": (
            "1 arg remaining, starting with 'a.pcap'\n"
            "Ostermann's tcptrace -- version 6.6.7 -- Thu Nov  4, 2004\n"
            "\n"
            "12 packets seen, 12 TCP packets traced\n"
        ),
    },
    "capinfos' text": {
        "capinfos": ("File name:           a.pcap\nFile type:           Wireshark/... - pcapng\n"),
    },
    "Zeek's log": {
        "zeek conn.log": (
            "#separator \\x09\n"
            "#set_separator\t,\n"
            "#empty_field\t(empty)\n"
            "#unset_field\t-\n"
            "#path\tconn\n"
            "#open\t2023-11-14-22-13-20\n"
            "#fields\tts\tuid\n"
        ),
        "zeek json": ('{"ts": 1700000000.1, "uid": "C1", "id.orig_h": "10.0.0.1", "id.orig_p": 1, "proto": "tcp"}\n'),
    },
    "table of Ookla's client": {
        "speedtest csv row without header": (
            '"Example - City","1234","9.5","0.5","0","12500000","1250000","125000000","12500000","https://www.speedtest.net/result/c/abc"\n'
        ),
    },
    "speedtest-cli's text": {
        "speedtest-cli csv": (
            "Server ID,Sponsor,Server Name,Timestamp,Distance,Ping,Download,Upload,Share,IP Address\n"
            "1234,Example,City,2023-11-14T22:13:20.000000Z,1.2,9.5,100000000.1,10000000.1,,192.0.2.1\n"
        ),
        "speedtest-cli csv no header": (
            "1234,Example,City,2023-11-14T22:13:20.000000Z,1.2,9.5,100000000.1,10000000.1,,192.0.2.1\n"
        ),
    },
    "fast-cli's text": {
        "fast text": ("100 Mbps\n"),
    },
    "ndt7-client's text": {
        "ndt7 text": ("download in progress with ndt.example\nAvg. speed  :    95.2 Mbit/s\ndownload: complete\n"),
    },
    "networkQuality's text": {
        "networkQuality text": ("==== SUMMARY ====\nUplink capacity: 20.0 Mbps\n"),
    },
    "irtt's text": {
        "irtt text": (
            "[Connecting] connecting to 192.0.2.9\n"
            "[192.0.2.9:2112] [Connected] connection established\n"
            "seq=0 rtt=9.8ms rd=4.9ms sd=4.9ms ipdv=n/a\n"
        ),
    },
}
S = 1_700_000_000
OUTPUTS |= {
    "a measurement of RIPE Atlas": {
        "Atlas, ping": json.dumps(
            [{"msm_id": 1001, "prb_id": 1, "timestamp": S, "type": "ping", "result": [{"rtt": 9}]}]
        ),
        "Atlas, lines": json.dumps({"fw": 5080, "msm_id": 5001, "prb_id": 1, "type": "traceroute", "result": []})
        + "\n",
    },
    "scamper's output": {
        "sc_warts2json, ping": json.dumps({"type": "ping", "version": "0.4", "ping_sent": 4, "responses": []}) + "\n",
        "sc_warts2json, trace": json.dumps({"type": "trace", "stop_reason": "COMPLETED", "hops": []}) + "\n",
        "sc_warts2json, cycle": json.dumps({"type": "cycle-start", "list_name": "default", "id": 1}) + "\n",
    },
    "a result of perfSONAR": {
        "pscheduler, latency": json.dumps({"succeeded": True, "packets-sent": 9, "histogram-latency": {"9.8": 9}}),
        "pscheduler, throughput": json.dumps({"succeeded": True, "summary": {}, "intervals": []}),
        "esmond": json.dumps([{"ts": S, "val": {"9.8": 50}}]),
    },
    "a score of ITU-T P.1203": {
        "itu-p1203, scores": json.dumps({"O23": 4.1, "O34": [4.2], "O35": 4.15, "O46": 4.05, "streamId": 1}),
        "itu-p1203, input": json.dumps({"I11": {"segments": []}, "I13": {"segments": []}, "IGen": {}}),
    },
    "a row of M-Lab's tables": {
        "BigQuery, JSON": json.dumps({"id": "x", "date": "2023-11-14", "a": {"MinRTT": 9.1}, "client": {}}) + "\n",
    },
    "a table of M-Lab": {"BigQuery, CSV": "id,date,a.TestTime,a.MinRTT\nx,2023-11-14,2023-11-14 22:13:20 UTC,9.1\n"},
    "GStreamer's statistics": {
        "rtpbin": "session 0: application/x-rtp-source-stats, ssrc=(uint)123, jitter=(uint)45;\n",
    },
    "ePPing's text": {
        "ePPing, ppviz": f"{S}.123456789 0.0205 0.019 192.0.2.1:443+10.0.0.1:50000\n",
    },
}
#: Outputs of which there is one form.
NOT_READ = {
    "a list of results of iperf3; ": json.dumps([iperf3(), iperf3()]),
    "iperf3's text; run it with -J": "Tue Nov 14 22:13:20 2023 Connecting to host 10.0.0.2, port 5201\n",
    "fping's per-target text": "192.0.2.1 : 10.2 10.6 - 10.9\n192.0.2.2 : 20.2 - - 20.9\n",
    "fping's per-target summary": "192.0.2.1 : xmt/rcv/%loss = 4/4/0%, min/avg/max = 0.04/0.06/0.07\n",
    "iperf's usage": "Usage: iperf3 [-s|-c host] [options]\n       iperf3 [-h|--help] [-v|--version]\n",
    "hping's text": "HPING 192.0.2.9 (eth0 192.0.2.9): S set, 40 headers + 0 data bytes\n",
    "a report like mtr's": '{"report":{"mtr":{"src":"a"},"hubs":[{"count":1}]}}',
    "tc's text": "1700000000.5\nqdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p\n Sent 1 bytes 1 pkt\n",
    "tc's output without its time": '[{"kind":"fq_codel","handle":"1:","bytes":1}]',
    "speedtest-cli's text": "Ping: 12.3 ms\nDownload: 95.00 Mbit/s\nUpload: 20.00 Mbit/s\n",
    "table of Ookla's client": '"server name","server id","latency"\n"a","1","10"\n',
    "table of LibreSpeed's client": "Timestamp,Server Name,Address,Ping,Jitter,Download\n2023,a,u,1,1,1\n",
    "an error message instead of a result": '{"error":"[0] Cannot open socket: Timeout occurred in connect."}',
    "a row of M-Lab's tables": '{"id":"x","date":"2023-11-14","a":{"MeanThroughputMbps":50.1},"raw":{"Download":{}}}\n',
    "an annotation file of M-Lab": '{"UUID":"x","Timestamp":"2023-11-14T22:13:20Z","Server":{},"Client":{}}',
    "PageSpeed Insights' response": '{"kind":"pagespeedonline#result","id":"u","lighthouseResult":{"audits":{}}}',
    "browsertime's result": '[{"info":{"browsertime":{}},"statistics":{},"browserScripts":[{}]}]',
    "libvmaf's subtitles": "{0}{1}frame: 0|integer_adm2: 0.98|vmaf: 95.1|\n",
    "XPSNR of ffmpeg": "n:    1  XPSNR y: 40.1  XPSNR u: 42.0  XPSNR v: 43.0\n",
    "ffmpeg's summary of a clip": "frame=  100 fps= 50\n[Parsed_libvmaf_0 @ 0x55] VMAF score: 95.123\n",
    "an M-Lab traceroute": '{"UUID":"x","TracerouteCallerVersion":"v0"}\n{"type":"cycle-start"}\n',
    "ndt7-client's progress": '{"Key":"starting","Value":{"Test":"download"}}\n',
}
