"""Outputs of tools that watch hosts, sockets, packets and flows, which no reader takes.

Those of mtr, hping, irtt, tcptrace, tshark, capinfos, ip, netstat, nstat, lnstat and curl begin as recorded ones do;
the others are written after the sources and documents of the tools.
"""

from __future__ import annotations

import json

#: What each reason begins with: outputs that get it.
OUTPUTS_OF_MONITORS: dict[str, tuple[str, ...]] = {
    "ifstat's interface counters": (
        "       eth0                lo        \n KB/s in  KB/s out   KB/s in  KB/s out\n"
        "    0.10      0.20      0.00      0.00\n",
        "  Time           eth0       \nHH:MM:SS   KB/s in  KB/s out\n22:13:20      0.10      0.20\n",
        "      wlan0       \n Kbps in  Kbps out\n 1003.77     51.67\n",
        "#kernel\nInterface        RX Pkts/Rate    TX Pkts/Rate    RX Data/Rate    TX Data/Rate  \n",
    ),
    "ifstat's counters": (json.dumps({"kernel": {"eth0": {"rx_packets": 12, "tx_packets": 9, "rx_bytes": 1200}}}),),
    "nstat's counters, which are not read; poll ss": (
        json.dumps({"kernel": {"IpInReceives": 5727324, "TcpRetransSegs": 4076, "TcpExtTCPLossProbes": 4575}}),
        "#kernel\nIpInReceives                    5727324            0.0\nTcpRetransSegs   4076    0.0\n",
        "#27.4196 sampling_interval=1 time_const=60\nIpInReceives                    1234            10.0\n",
    ),
    "lnstat's counters, which are not read; poll ss": (
        "nf_connt|nf_connt|arp_cach|rt_cache|\n entries|clashres| entries| entries|\n",
    ),
    "bmon's interface counters": (
        "Interfaces                     | RX bps       pps     %| TX bps       pps     %\n lo   |       0         0\n",
        "Interface                   RX bps       pps     %     TX bps       pps     %\n  eth0        1.2K  3\n",
    ),
    "nload's interface counters": (
        "\x1b[?1049h\x1b[1;24r\x1b(B\x1b[mDevice eth0 [192.0.2.2] (1/2):\n=========\nIncoming:\n",
    ),
    "iftop's interface counters": (
        "interface: eth0\nIP address is: 192.0.2.2\nMAC address is: 02:00:00:00:00:01\nListening on eth0\n",
        "   # Host name (port/service if enabled)            last 2s   last 10s   last 40s cumulative\n",
    ),
    "vnStat's interface counters": (
        "Database updated: 2023-11-14 22:10:00\n\n   eth0 since 2023-01-01\n\n"
        "          rx:  1.20 GiB      tx:  2.30 GiB\n",
        "\n eth0  /  hourly\n\n         hour        rx      |     tx      |    total    |   avg. rate\n",
        "Monitoring eth0...    (press CTRL-C to stop)\n\n   rx:        4 kbit/s     2 p/s\n",
        "1;eth0;2023-11-14;1.20 GiB;2.30 GiB;3.50 GiB;410.10 kbit/s;2023-11;1.20 GiB\n",
    ),
    "vnStat's counters": (json.dumps({"vnstatversion": "2.10", "jsonversion": "2", "interfaces": []}),),
    "nethogs's interface counters": (
        "Adding local address: 192.0.2.2\nEthernet link detected\n\nRefreshing:\n/usr/bin/ssh/1234/1000\t0.1\t0.2\n",
    ),
    "dstat's interface counters": (
        "You did not select any stats, using -cdngy by default.\n--total-cpu-usage-- -dsk/total- -net/total-\n",
        "----total-usage---- -net/total-\nusr sys idl wai stl| recv  send\n",
        '"Dstat 0.7.4 CSV output"\n"Author:","Dag Wieers <dag@wieers.com>"\n',
        '"pcp-dstat 5.0.3 CSV Output"\n"Author:","PCP team"\n',
    ),
    "sadf's interface counters": ("# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s\nlaptop;1;2023-11-14\n",),
    "sadf's counters": (json.dumps({"sysstat": {"hosts": [{"nodename": "laptop", "statistics": []}]}}),),
    "text of sysstat (sar, iostat, mpstat, pidstat) or vmstat": (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd\n",
    ),
    "netstat's interface counters": (
        "Interface Statistics\n\n                           Received            Sent\n\nBytes    123   456\n",
        "            input        (Total)           output\n   packets  errs      bytes    packets  errs\n",
        "Name       Mtu   Network       Address            Ipkts Ierrs    Opkts Oerrs  Coll\n",
    ),
    "SNMP's interface counters": (
        "IF-MIB::ifHCInOctets.2 = Counter64: 123456\n",
        "iso.3.6.1.2.1.2.2.1.10.2 = Counter32: 9\n",
    ),
    "text of netstat -s or of /proc/net": (
        "IcmpMsg:\n    InType0: 1464\n    InType3: 7\nTcp:\n    255847 active connection openings\n",
        "Ip: Forwarding DefaultTTL InReceives\nIp: 2 64 5727324\n",
        "1700000000.5\nIp:\n    Forwarding: 1\n    5727324 total packets received\n",
        "TcpExt: SyncookiesSent SyncookiesRecv\nTcpExt: 0 0\n",
        "tcp:\n\t123456 packets sent\n\t\t98765 data packets (12345 bytes)\n",
        "\nIPv4 Statistics\n\n  Packets Received                   = 123\n",
    ),
    "the table /proc/net/tcp": (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n",
    ),
    "a table of routes or neighbours": (
        "Kernel IP routing table\nDestination     Gateway         Genmask         Flags   MSS Window  irtt Iface\n",
        "default via 192.0.2.1 dev eth0 \n192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2 \n",
        "192.0.2.1 dev eth0 lladdr 02:fc:00:00:00:05 ref 1 used 0/0/0 probes 1 REACHABLE\n",
        "0:\tfrom all lookup local\n32766:\tfrom all lookup main\n",
        "? (192.0.2.1) at 02:fc:00:00:00:05 [ether] on eth0\n",
    ),
    "ip's cache tcp_metrics": (
        "192.0.2.9 age 340.712sec cwnd 16 rtt 490us rttvar 398us source 192.0.2.2\n::1 age 2.1sec rtt 1us\n",
        "127.0.0.1 age 2.432sec reordering 7 rtt 719us rttvar 1135us source 127.0.0.1\n",
    ),
    "ip's list of interfaces": (
        json.dumps([{"ifindex": 1, "ifname": "lo", "flags": ["UP"], "stats64": {"rx": {"bytes": 1}}}]),
    ),
    "the system's interface counters": (
        "lo               UNKNOWN        127.0.0.1/8 ::1/128 \neth0             UP             192.0.2.2/24 \n",
        "lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP> \n",
        "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1400\n        inet 192.0.2.2  netmask\n",
        "eth0      Link encap:Ethernet  HWaddr 02:00:00:00:00:01  \n          inet addr:192.0.2.2\n",
    ),
    "ethtool's list of settings": (
        "Settings for eth0:\n\tSupported ports: [ TP ]\n\tSpeed: 1000Mb/s\n",
        "Coalesce parameters for eth0:\nAdaptive RX: off  TX: off\n",
        "driver: e1000e\nversion: 6.1.0\nfirmware-version: 0.13-4\n",
    ),
    "text of iw or iwconfig": (
        "Station 02:00:00:00:00:05 (on wlan0)\n\tinactive time:\t8 ms\n\trx bytes:\t123\n",
        "Connected to 02:00:00:00:00:05 (on wlan0)\n\tSSID: x\n\tfreq: 5180\n\tsignal: -52 dBm\n",
        'wlan0     IEEE 802.11  ESSID:"x"  \n          Mode:Managed  Frequency:5.18 GHz\n',
    ),
    "conntrack's text": (
        "tcp      6 431999 ESTABLISHED src=192.0.2.2 dst=192.0.2.9 sport=5000 dport=443 src=192.0.2.9\n",
        "ipv4     2 udp      17 29 src=192.0.2.2 dst=192.0.2.9 sport=5000 dport=53\n".replace("ipv4     2 ", "ipv4 2 "),
    ),
    "rules or counters of a firewall": (
        "Chain INPUT (policy ACCEPT 12 packets, 900 bytes)\n pkts bytes target     prot opt in     out\n",
        "table inet filter {\n\tchain input {\n\t\tcounter packets 12 bytes 900\n",
    ),
    "text of bpftrace or bcc": (
        "Attaching 2 probes...\n\n@usecs:\n[4, 8)                 1 |@@@@                                |\n",
        "Tracing TCP RTT... Hit Ctrl-C to end.\n\nAll Addresses = *******\n"
        "     usecs               : count     distribution\n",
        "     usecs               : count     distribution\n         0 -> 1          : 0        "
        "|                    |\n",
        "PID   COMM       LADDR           LPORT RADDR           RPORT TX_KB RX_KB MS\n"
        "22597 recordProg 127.0.0.1       46644\n",
        "TIME(s)  PID    COMM         IP SADDR            DADDR            DPORT LAT(ms)\n0.000000 1 x\n".replace(
            "TIME(s)", "TIME(s) "
        ),
        "Tracing retransmits ... Hit Ctrl-C to end\nTIME     PID    IP LADDR:LPORT          T> RADDR:RPORT     "
        "     STATE\n",
    ),
    "a trace of the kernel": (
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/1   #P:2\n",
        "cpus=2\n          iperf3-1234  [001]   123.456789: tcp_probe:  src=192.0.2.2:5000 dest=192.0.2.9:443\n",
    ),
    "cake-autorate's log": (
        "DATA; 2023-02-21-10:31:11; 1676971871.123; 1676971871.120; 1234; 567; 6; 2; 8.8.8.8; 12;\n",
        "DATA_HEADER; LOG_DATETIME; LOG_TIMESTAMP; PROC_TIME_US; DL_ACHIEVED_RATE_KBPS;\n",
        "INFO; 2023-02-21-10:31:11; 1676971871.123; Starting cake-autorate 2.0.0\n",
    ),
    "metrics of a monitoring system": (
        "# HELP probe_duration_seconds Returns how long the probe took\n# TYPE probe_duration_seconds gauge\n",
        "ping,host=laptop,url=192.0.2.9 average_response_ms=9.8,packets_transmitted=1i 1700000000000000000\n",
    ),
    "a table like tshark's fields, without their names": (
        "1\t1744013927.528630000\t192.0.2.1,203.0.113.3\t192.0.2.2,192.0.2.1\t51252\t80\t116\n",
        "0.000000000,116,\n0.000005000,116,0.000005000\n",
        "0.000000000\t116\t\n0.000005000\t116\t0.000005000\n",
        "Apr  7, 2025 08:18:47.528630000 UTC\t192.0.2.1\t192.0.2.2\tTCP\t51252 → 80 [SYN] Seq=0\n",
        "1744013927.528630000,192.0.2.1,192.0.2.2,443,5000,6\n",
        '"1744013927.528630000";"2001:db8::1";"2001:db8::2";"443"\n',
        "2001:db8::1\t2001:db8::2\t1744013927.528630000\t0.01\n",
        "1\t02:00:00:00:00:01\t02:00:00:00:00:02\t74\n",
    ),
    "tshark's text": (
        "\n====================\nPacket Lengths:\nTopic / Item       Count         Average\n",
        "\n===================================================================\nProtocol Hierarchy Statistics\n"
        "Filter: \n",
        "\n==========================\nICMP Service Response Time (SRT) Statistics (all times in ms):\n"
        "Filter: <none>\n",
        "\n===================================================================\nFollow: tcp,ascii\n"
        "Filter: tcp.stream eq 0\n",
        "\nNotes (2)\n=============\n   Frequency      Group           Protocol  Summary\n",
        "    1\t  0.000000\t192.0.2.1\t→\t192.0.2.2\tTCP\t116\t51252 → 80 [SYN] Seq=0 Win=64240 Len=0\n",
        "|Time     | 192.0.2.1                             |\n|         |                   | 192.0.2.2         |\n",
    ),
    "tshark's table of fields": ("ip.src\n192.0.2.1\n", "tcp.analysis.ack_rtt\n0.0123\n"),
    "a hex dump of packets; ingest the capture itself (tshark -w FILE.pcapng), or convert it: text2pcap DUMP": (
        "0000  fa 16 3e fe 57 8a fa 16 3e fe 57 dc 08 00 45 00   ..>.W...>.W...E.\n",
    ),
    "tcptrace's table": (
        "#1 arg remaining, starting with 'a.pcap'\n#Ostermann's tcptrace -- version 6.6.7\n\nconn_#,host_a,host_b\n",
    ),
    "capinfos' table": (
        "File name\tFile type\tFile encapsulation\tFile time precision\na.pcap\tpcap\tether\tmicroseconds\n",
        "File name,File type,File encapsulation,File time precision\na.pcap,pcap,ether,microseconds\n",
    ),
    "Argus's records of flows": (
        "                 StartTime      Flgs  Proto            SrcAddr  Sport   Dir            DstAddr  Dport "
        " TotPkts\n",
        "StartTime,Flgs,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,TotPkts,TotBytes,State\n",
    ),
    "nfdump's records of flows": (
        "Date first seen          Duration Proto      Src IP Addr:Port          Dst IP Addr:Port   Packets   "
        " Bytes Flows\n",
        "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt\n2023-11-14 22:13:20,2023-11-14 22:13:21,0.9,192.0.2.1\n",
    ),
    "records of flows": (json.dumps([{"type": "FLOW", "src4_addr": "192.0.2.1", "dst4_addr": "192.0.2.2"}]),),
    "SiLK's records of flows": ("            sIP|            dIP|sPort|dPort|pro|   packets|     bytes|\n",),
    "CICFlowMeter's records of flows": (
        "Flow ID,Src IP,Src Port,Dst IP,Dst Port,Protocol,Timestamp,Flow Duration\n",
        "Dst Port,Protocol,Timestamp,Flow Duration,Tot Fwd Pkts\n443,6,14/11/2023 22:13:20,9,1\n",
    ),
    "Tstat's records of flows": ("#15#c_ip:1 c_port:2 c_pkts_all:3 c_rst_cnt:4\n192.0.2.1 5000 12 0\n",),
    "p0f's records of flows": (
        "--- p0f 3.09b by Michal Zalewski <lcamtuf@coredump.cx> ---\n\n[+] Closed 1 file descriptor.\n",
        "[2023/11/14 22:13:20] mod=syn|cli=192.0.2.1/5000|srv=192.0.2.2/443|subj=cli|os=Linux\n",
    ),
    "ngrep's text": (
        "interface: eth0 (192.0.2.0/255.255.255.0)\nfilter: ( port 80 ) and (ip or ip6)\n#\n"
        "T 192.0.2.1:5000 -> 192.0.2.2:80 [AP]\n",
    ),
    "SIPp's statistics": ("StartTime;LastResetTime;CurrentTime;ElapsedTime(P);ElapsedTime(C);TargetRate;\n",),
    "Suricata's log": (
        json.dumps(
            {"timestamp": "2023-11-14T22:13:20.1+0000", "flow_id": 1, "event_type": "flow", "src_ip": "192.0.2.1"}
        )
        + "\n",
        json.dumps({"timestamp": "2023-11-14T22:13:20.1+0000", "event_type": "stats", "stats": {"uptime": 9}}) + "\n",
    ),
}
