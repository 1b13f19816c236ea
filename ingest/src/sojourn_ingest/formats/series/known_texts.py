"""Beginnings of what tools write for people, with what to record instead."""

from __future__ import annotations

import re

PING = "record ping -D HOST"
_WINDOWS_PING = "record ping -n 100 HOST"
TC = "poll tc -s -j qdisc show, after date +%s.%N"
SS = "poll ss -tin, after date +%s.%N"
_IPERF3 = "run iperf3 with -J"
CURL = "record curl -o /dev/null -w '%{json}\\n' URL > page_loads.jsonl"
_INTERFACE = f"interface counters, which are not read; {TC}"
#: Of IPv4, IPv6 or hardware; several where one packet is within another. Each is taken in one way only: a list of
#: many would otherwise be tried in all their combinations.
_ADDRESS = rb"(?:\d{1,3}(?:\.\d{1,3}){3}|(?=[\da-f:]*::)[\da-f:]{2,39}|[\da-f]{1,4}(?::[\da-f]{1,4}){5,7})"
_ADDRESSES = _ADDRESS + rb"(?:," + _ADDRESS + rb")*"
CAPTURE = "ingest the capture itself"
#: Beginnings of texts, in the order in which they are asked: what it is, and what to do.
TEXTS: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), text)
    for pattern, text in (
        # Load.
        (
            rb"\A.{0,200}(?:Connecting to host \S+, port \d|-+\s+Server listening on \d+(?: \(|\s))",
            "iperf3's text; run it with -J",
        ),
        (
            rb"\A-+\s+(?:Client connecting to|Server listening on (?:TCP|UDP))",
            "iperf 2's text; run it with -i 1 -y C",
        ),
        (rb"\A\[ *\d+\] local \S+ port \d+ connected to ", "iperf3's text; run it with -J"),
        (rb"\A\[ *\d+\] local \S+ port \d+ connected with ", "iperf 2's text; run it with -i 1 -y C"),
        (rb"\A\[ ID\] Interval ", "text of iperf; run iperf3 with -J, or iperf 2 with -i 1 -y C"),
        (rb"\A(?:iperf\S{0,2}: \S.*\n\s*)?Usage: iperf", "iperf's usage, which measured nothing; correct the options"),
        (
            rb"\A(?:(?:MIGRATED )?(?:TCP|UDP|SCTP|OMNI) [A-Za-z/| ]{3,40}TEST\b|Interim result: +[\d.]+ )",
            "netperf's text, which is not read; run flent, or iperf3 with -J",
        ),
        (
            rb"^(?:NETPERF_INTERIM_RESULT\[0\]=|THROUGHPUT=[\d.]+$)"
            rb"|\A(?:[^,\n]{1,60},){0,30}Throughput,Throughput Units(?:,|$)",
            "netperf's table of values, which is not read; run flent, or iperf3 with -J",
        ),
        (
            rb"\A\s*(?:nuttcp-[tr]\d*: |[\d.]+ MB / +[\d.]+ sec = |megabytes=[\d.]+ real_seconds=)",
            "nuttcp's text, which is not read; run iperf3 with -J",
        ),
        (
            rb"\Asockperf: |\A(?:tcp|udp|sctp)_(?:bw|lat):$",
            "text of sockperf or qperf, which is not read; run iperf3 with -J, or irtt",
        ),
        (rb"\ASummary of \S+ test run from ", "flent's summary; give the .flent or .flent.gz file that it wrote"),
        (rb"\Aiperf 3\.\d", f"iperf3's text; {_IPERF3}"),
        (
            rb"\Aiperf3?: (?:error|interrupt|parameter error|warning: )|\A(?:tcp )?(?:connect|bind|accept) failed: ",
            "an error message of iperf, which measured nothing; run it again",
        ),
        *(
            (pattern, f"{tool}'s text, which is not read; {CURL}")
            for tool, pattern in (
                ("ab", rb"\AThis is ApacheBench, |\Astarttime\tseconds\tctime\t|\APercentage served,Time in ms$"),
                ("wrk", rb"\ARunning \S+ test @ https?://"),
                ("hey", rb"\A\s*Summary:\n +Total:\t|\Aresponse-time,DNS\+dialup,"),
                ("oha", rb"\ASummary:\n +Success rate:"),
                ("h2load", rb"\Astarting benchmark\.\.\.$"),
                ("siege", rb"\A\*\* SIEGE \d|\ATransactions:\s+\d+ hits$"),
                ("vegeta", rb"\ARequests +\[total, rate"),
                ("bombardier", rb"\ABombarding https?://"),
                ("Fortio", rb"\AFortio \d\S* running at "),
                ("locust", rb"\A\"?Type\"?,\"?Name\"?,\"?(?:Request Count|# requests)\"?,"),
            )
        ),
        *(
            (pattern, f"{tool}'s text, which is not read; {_IPERF3}")
            for tool, pattern in (
                ("uperf", rb"\AStarting \d+ threads running profile:|^Txn\d+ +\d"),
                ("D-ITG", rb"\A(?:ITG(?:Dec|Send|Recv) version |/?-+\nFlow number: \d|Flow>\d+ Seq>\d+ )"),
                ("MGEN", rb"\A\d\d:\d\d:\d\d\.\d{6} (?:START |(?:RECV|LISTEN|SEND) proto>|REPORT )"),
                ("NTttcp", rb"\A(?:NTTTCP for Linux|Copyright Version 5\.\d\d\n|.{0,30}Thread +Time\(s\) +Throughput)"),
                ("Ethr", rb"\AEthr: Comprehensive Network"),
            )
        ),
        (
            rb"\A\S+ \S+ Testing (?:against )?\S+ \(.*simultaneous sessions|^Measure speed to .* while pinging ",
            "text of betterspeedtest or speedtest-netperf, which is not read; run flent",
        ),
        # Delay.
        (
            rb"\A +PING \S+: \d+ +data bytes, press CTRL_C|^ +Reply from \S+: bytes=\d+ Sequence=\d",
            f"text of ping on a router of Huawei, which is not read; {PING}",
        ),
        (
            rb"^.{0,200}\bPING \S.*\b(?:data bytes|bytes of data)\b",
            "ping's output with other text before it; keep only what ping wrote, and record times with ping -D",
        ),
        (rb"\A\S+\s+: (?:[\d.]+|-)(?: (?:[\d.]+|-))*$", "fping's per-target text (-C); run it with -D -c 100"),
        (
            rb"\A(?:\[\d\d:\d\d:\d\d\]\n|\n)?\S+\s+: xmt/rcv/%",
            "fping's per-target summary (-q, -Q); run it with -D -c 100",
        ),
        (rb"\A\S+ is (?:alive|unreachable)", "fping's text without round trips; run it with -D -c 100"),
        (
            rb"\A\[\S{3,30}(?: \S{1,20}){0,4}\] \S+\s+: \[\d+\], ",
            "fping's output with times that are not epochs; run it without --timestamp-format",
        ),
        (rb"\A(?:ping6?|fping): ", "an error message of ping, which measured nothing; run it again"),
        (rb"\A(?:Mtr_Version[,;]|MTR\.\d)", f"mtr's table (--csv), which is not read; {PING}"),
        (rb"\A(?:Start: .*\n\s*)?HOST: \S", f"mtr's report, which is not read; {PING}"),
        (
            rb"\A(?:(?:<\?xml[^>]*>\s*)?<MTR |(?:x \d{1,3} \d+\s+){0,64}h \d{1,3} \S+\s+[dhpx] \d)",
            f"mtr's output for programs (--xml, --raw), which is not read; {PING}",
        ),
        (
            rb"^-+ (?:ow|tw)ping statistics from |\A(?:Approximately [\d.]+ seconds until results available"
            rb"|seq_no=\d+ +delay=|\d+ \d{15,20} [01] \S+ \d{15,20} [01] |SUMMARY\t\d\.\d+\s)",
            "output of owping or twping, which is not read; run irtt client -o result.json HOST",
        ),
        (
            rb"\A\s*PsPing v\d|^\d+ iterations \(warmup \d+\) .*test:",
            f"psping's text, which is not read; {_WINDOWS_PING}",
        ),
        (
            rb"^(?:This is hrPING |Source address is \S+; using ICMP)",
            f"hrPING's text, which is not read; {_WINDOWS_PING}",
        ),
        (
            rb"^ *My traceroute +\[v|\A(?:-\d+\n)*\d{1,2} (?:\?\?\?"
            rb"|[^\s.:]*[.:]\S*(?: [\d.:a-f]+)? \d+ \d+ \d+(?: [\d.]+){3,4})$",
            f"mtr's output for a screen or for programs (--split), which is not read; {PING}",
        ),
        *(
            (pattern, f"{tool}'s text, which is not read; {PING}")
            for tool, pattern in (
                ("hping", rb"\A\s*HPING |^--- \S+ hping statistic ---$"),
                ("nping", rb"\A\s*Starting Nping "),
                ("nmap", rb"\A(?:# |Starting )Nmap \d|\A<\?xml[^>]*>\s*(?:<[?!][^>]*>\s*){0,4}<nmaprun "),
                ("MikroTik's ping", rb"\A\s*SEQ HOST\s"),
                ("Cisco's ping", rb"\A\s*Type escape sequence to abort"),
                ("httping", rb"\APING \S+ \(https?://|^(?:connected|pinged host) \S+ \(\d+ bytes\), seq="),
                ("arping", rb"\AARPING \S"),
                ("tcptraceroute", rb"\ASelected device \S+, address |\ATracing the path to "),
                ("dublin-traceroute", rb"\AStarting dublin-traceroute|\ATraceroute from \S+ to \S+ \(probing "),
                ("dig", rb"\A\s*; <<>> DiG \d"),
                ("dnsping", rb"\Adnsping(?:\.py)? (?:DNS: )?\S"),
                ("dnsperf", rb"\A(?:DNS Performance Testing Tool|\[Status\] Command line: (?:dns|res)perf)"),
            )
        ),
        (
            rb"\A(?:<\?xml[^>]*>\s*)?(?:<[?!][^>]*>\s*){0,4}<rrd>|^\d{10}: +(?:-?\d\.\d{10}e[+-]\d\d|-?nan)",
            f"text of RRDtool, such as SmokePing's, which is not read; {PING}",
        ),
        *(
            (pattern, f"{tool}'s text, which is not read; {_WINDOWS_PING}")
            for tool, pattern in (
                ("tcping", rb"\A\s*(?:Probing \S+:\d+/\w+ - |TCPinging \S+ on port \d|Ping tcp://)"),
                ("paping", rb"\A(?:paping v\d.*\n+)?Connecting to \S+ (?:\[\S+\] )?on (?:TCP|UDP) \d"),
                (
                    "Test-Connection",
                    rb"^(?: +Destination: \S+\s+)?Ping Source +Address +Latency"
                    rb"|^Source +Destination +IPV4Address +IPV6Address +Bytes",
                ),
            )
        ),
        (
            rb"\A\s*(?:(?:traceroute|tracepath)6?[ :]|Tracing route )|\A ?1\?: +\[LOCALHOST\]"
            rb"|^ {1,3}1 +(?:<?\d+ \S{1,4} +|\* +){3}\S",
            f"traceroute's text, which is not read; {PING}",
        ),
        (
            rb"\A\[ServerStart\] starting IRTT",
            "the log of irtt's server, which has no round-trip times; run irtt client with -o result.json",
        ),
        (rb"\A\s*\[Connecting\] connecting to ", "irtt's text; run irtt client with -o result.json"),
        # Queues, sockets and interfaces.
        (
            rb"\A(?:[^\n]{1,60}\n){0,2}(?:deleted |added )?(?:qdisc|class|filter) "
            rb"(?:\S+ \S+ (?:dev|root|parent)|parent) ",
            "tc's text; run tc -s -j qdisc show, after date +%s.%N",
        ),
        (
            rb"\A(?:[^\n]{1,60}\n)?(?:Total: \d.*\nTCP: |Active Internet connections|Active Connections)",
            "text of netstat or ss -s, which is not read; run ss -tin, after date +%s.%N",
        ),
        (
            # Three rates and two counts, each of bytes and of packets.
            rb"\A(?:\d{10}[;,][^;,\n]{1,20}(?:(?:[;,]\d+\.\d\d){3}(?:[;,]\d+(?:\.\d\d)?){2}){2}[;,]|\s*bwm-ng v\d)",
            f"bwm-ng's {_INTERFACE}",
        ),
        (rb"\ANIC statistics:|\A\[\s*\{\s*\"ifname\":\s*\"[^\"]+\",\s*\"[rt]x", f"ethtool's {_INTERFACE}"),
        (
            rb"\ALinux \S+ \(.{1,60}\).*\(\d+ CPU\)|\Aprocs -+memory-+",
            f"text of sysstat (sar, iostat, mpstat, pidstat) or vmstat, which is not read; {TC}",
        ),
        (rb"\A(?:\d{1,4}: \S+: <[A-Z_,-]+> mtu |Inter-\|  |Kernel Interface table)", f"the system's {_INTERFACE}"),
        *(
            (pattern, f"{tool}'s {_INTERFACE}")
            for tool, pattern in (
                (
                    "ifstat",
                    rb"^ *(?:HH:MM:SS +)?(?:KB/s|Kbps|kbps|KB) in +(?:KB/s|Kbps|kbps|KB) out\b"
                    rb"|^Interface +RX Pkts/Rate +TX Pkts/Rate",
                ),
                ("bmon", rb"^ *Interfaces? .{0,60}\b[RT]X bps "),
                ("nload", rb"^ *Device \S+ \[[^\]\n]*\] \(\d+/\d+\):"),
                ("iftop", rb"\Ainterface: \S+\nIP address is|^ +# Host name \(port/service if enabled\)"),
                (
                    "vnStat",
                    rb"\A(?:Database updated: |Monitoring \S+\.\.\.  |Sampling \S+ \(\d+ seconds"
                    rb"|\d;\S+;[\d-]+;[\d.]+ [KMGT]?i?B;)"
                    rb"|\A\s*(?:\S+ +/ +(?:5 minute|hourly|daily|monthly)$|rx +/ +tx +/ +total)",
                ),
                ("nethogs", rb"^Refreshing:$|^NetHogs version "),
                (
                    "dstat",
                    rb"\A(?:You did not select any stats,|(?:-+total\S*-usage-|-+net/|-+system-|-+load-avg-"
                    rb"|-+io/|-+dsk/))"
                    rb"|\A\"(?:Dstat|Dool|pcp[ -]dstat) \S+ CSV [oO]utput\"",
                ),
                ("sadf", rb"\A#? ?hostname;interval;timestamp;"),
                (
                    "netstat",
                    rb"\A(?:Interface Statistics$| +input +\(?\S+\)? +output$|Name +Mtu +Network +Address +Ipkts)",
                ),
                ("SNMP", rb"\A(?:IF-MIB::[\w.]+|\.?(?:iso|1)\.3\.6\.1\.[\d.]+) = \w+"),
            )
        ),
        (
            rb"\A(?:[^\n]{0,60}\n)?(?:(?:Ip|Ip6|Icmp|IcmpMsg|Icmp6|Tcp|Udp|Udp6|UdpLite|IpExt|TcpExt|MPTcpExt|Sctp):"
            rb"(?:\n +\S| [A-Z]\w+ [A-Z])"
            rb"|(?:ip|tcp|udp|icmp|ip6):\n\t\d+ |IPv[46] Statistics$)",
            f"text of netstat -s or of /proc/net, which is not read; {SS}",
        ),
        *(
            (pattern, f"{tool}'s counters, which are not read; {SS}")
            for tool, pattern in (
                ("lnstat", rb"\A(?:nf_connt|arp_cach|ndisc_ca|rt_cache)\|(?:[\w ]{8}\|)+$"),
                ("nstat", rb"\A#(?:kernel|[\d.]+ sampling_interval=\S+ .*)$"),
            )
        ),
        (
            rb"\A *sl +local_address rem_address ",
            f"the table /proc/net/tcp, which has no round-trip times; {SS}",
        ),
        (
            rb"\A(?:Kernel IP(?:v6)? routing table|Routing tables$|default via \S+ dev "
            rb"|\S+ via \S+ dev \S+ (?:proto|metric) "
            rb"|\S+ dev \S+ (?:proto|scope|lladdr) |\? \(\S+\) at \S+|0:\tfrom all lookup )",
            "a table of routes or neighbours, which measures nothing; keep it as a note",
        ),
        (
            rb"\A\S+ age [\d.]+sec (?:\S+ )*?(?:cwnd|rtt|ssthresh|fo_|reordering|tw_ts)",
            f"ip's cache tcp_metrics; {SS}",
        ),
        (
            rb"\A(?:\S+ +(?:UP|DOWN|UNKNOWN|LOWERLAYERDOWN) +(?:\S+/\d+|\S{17} <)|\S+: flags=\d+<|\S+ +Link encap:)",
            f"the system's {_INTERFACE}",
        ),
        (
            rb"\A(?:Settings for \S+:$|(?:Features|Coalesce parameters|Ring parameters|Pause parameters"
            rb"|Time stamping "
            rb"parameters|Channel parameters) for \S+:$|driver: \S+\nversion: )",
            "ethtool's list of settings, which measures nothing; keep it as a note",
        ),
        (
            rb"\A(?:Station \S{17} \(on \S+\)$|Connected to \S{17} \(on \S+\)$|\S+ +IEEE 802\.11|phy#\d+$"
            rb"|Interface \S+\n\tifindex )",
            f"text of iw or iwconfig, which is not read; {TC}",
        ),
        (
            rb"\A(?:ipv[46] +\d+ )?(?:tcp|udp|icmp) +\d+ \d+ (?:[A-Z_]+ )?src=\S+ dst=\S+",
            f"conntrack's text, which is not read; {SS}",
        ),
        (
            rb"\A(?:# Generated by \S+tables|Chain \S+ \((?:policy|\d+ references)|table (?:ip6?|inet|arp|bridge"
            rb"|netdev) \S+ \{)",
            f"rules or counters of a firewall, which are not read; {TC}",
        ),
        (
            rb"\A(?:Attaching \d+ probes?\.\.\.|Attached \d+ probes?$|Tracing .{1,80}Hit Ctrl-C to end"
            rb"|@\w*(?:\[[^\]\n]*\])?: ?\n?[\[(]\d)"
            rb"|\A(?:TIME\S* +)?PID +(?:COMM|IP) +|\A +\S+ +: count +distribution$",
            f"text of bpftrace or bcc, which is not read; {SS}",
        ),
        (
            rb"\A# tracer: \w|\A +[\w./-]+-\d+ +\[\d{3}\] |\Acpus=\d+$",
            f"a trace of the kernel (ftrace), which is not read; {SS}",
        ),
        (
            rb"\A[A-Z_]{4,20}; (?:\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d|LOG_DATETIME); ",
            "cake-autorate's log, which is not read; poll tc -s -j qdisc show, and record fping -D -c 100",
        ),
        (
            rb"\A# (?:HELP|TYPE) \w+ |\A[a-z_]+(?:,\w+=[^,\s]+)+ \w+=[^,\s]+(?:,\w+=[^,\s]+)* \d{19}$",
            f"metrics of a monitoring system, which are not read; {TC}",
        ),
        # Packets.
        (
            rb"\A(?:(?:tcpdump: |listening on |reading from file ).*\n)*\s*(?:\d+ +)?(?:\d{4}-\d\d-\d\d )?"
            rb"(?:(?:\d\d:\d\d:\d\d|\d{10})\.\d{6,9} )?(?:\S{1,16} +(?:In|Out|B|M|P) +)?"
            rb"(?:IP6? (?:\S+ > \S+: |\()|ARP, |\S{17} > \S{17}, |\d+ MHz )",
            "tcpdump's text; record with -w FILE.pcap, or " + CAPTURE,
        ),
        (
            rb"\A\"?No\.\"?[,;\t]\"?Time\"?[,;\t]|\ANo\. +Time +Source |\A\"?Address A\"?[,;\t]",
            "Wireshark's list of packets; save the capture itself (pcapng)",
        ),
        (
            rb"\A(?:(?:Running as user|Capturing on|\*\* \(tshark).*\n)*"
            rb"(?:\s*\d+ +\S.{5,60} (?:\xe2\x86\x92|->) \S|Frame \d+: \d+ bytes on wire"
            rb"|\s*={20,}\s*(?:\| IO Statistics|\w+ (?:Conversations|Endpoints)|RTP Streams))",
            f"tshark's text; {CAPTURE} (tshark -w FILE.pcapng)",
        ),
        (
            rb"\A\"?(?:frame\.(?:number|time|len|cap_len|interface|protocols)|eth\.(?:src|dst|addr|type)"
            rb"|ip(?:v6)?\.(?:src|dst|addr|proto|nxt|ttl|hlim|len|plen|id|dsfield|flags)"
            rb"|(?:tcp|udp)\.(?:srcport|dstport|port|stream|length)"
            rb"|tcp\.(?:seq|ack|len|flags|window|analysis|options|time_|hdr_len)"
            rb"|quic\.(?:connection|packet|dcid|scid|version|long|short|header|frame)"
            rb"|rtp\.(?:seq|timestamp|ssrc|p_type|marker)|_ws\.(?:col|expert)\.)[\w.]*\"?(?:[,;|\t]|\n\S)",
            f"tshark's table of fields; {CAPTURE} (tshark -w FILE.pcapng)",
        ),
        (
            rb"\A\{\s*\"index\":\s*\{\s*\"_index\":\s*\"packets-"
            rb"|\A<\?xml[^>]*>\s*(?:<[?!][^>]*>\s*){0,4}<p[ds]ml ",
            f"tshark's list of packets; {CAPTURE}",
        ),
        (rb"\A(?:\d+ args? remaining, starting with|Ostermann's tcptrace)", f"tcptrace's text; {CAPTURE}"),
        (rb"\AFile name: +\S.*\nFile type: ", f"capinfos' text; {CAPTURE}"),
        (rb"\A#separator \\x", f"Zeek's log; {CAPTURE}"),
        (
            # A date as only tshark writes it, or a first time of 0 with nine digits; or two addresses: in a line with
            # tabs, or with such a time in one with commas.
            rb"\A(?:\d{1,9}[\t,;|])?(?:\"?[A-Z][a-z]{2} [ \d]\d, \d{4} \d\d:\d\d:\d\d\.\d{9} "
            rb"|\"?0\.000000000\"?[\t,;|])"
            rb"|\A(?:[^\t\n]*\t){0,20}" + _ADDRESSES + rb"\t" + _ADDRESSES + rb"(?:\t|$)"
            rb"|\A(?:[^,;|\n]*[,;|]){0,20}\"?\d{1,10}\.\d{9}\"?[,;|](?:[^,;|\n]*[,;|]){0,20}\"?"
            + _ADDRESSES
            + rb"\"?[,;|]\"?"
            + _ADDRESSES
            + rb"(?:\"?[,;|]|\"?$)",
            f"a table like tshark's fields, without their names; {CAPTURE} (tshark -w FILE.pcapng), or describe the "
            "table in a study description",
        ),
        (
            rb"\A\s*={20,}\n(?:.*Statistics|Follow: |.{1,40}:$|.*Service Response Time)|\A(?:\n(?:Errors|Warns"
            rb"|Warnings|Notes|Chats) \(\d+\)\n=+)"
            rb"|\A *\d+\t +\d+\.\d+\t[^\t\n]+\t(?:\xe2\x86\x92|->)\t|\A\|Time +\| ",
            f"tshark's text; {CAPTURE} (tshark -w FILE.pcapng)",
        ),
        (
            rb"\A0000  ?(?:[0-9a-f]{2} +){8,16} ",
            f"a hex dump of packets; {CAPTURE} (tshark -w FILE.pcapng), or convert it: text2pcap DUMP FILE.pcap",
        ),
        (rb"\A(?:#\d+ args? remaining|#?conn_#[,\t])", f"tcptrace's table; {CAPTURE}"),
        (rb"\AFile name[,\t]File type[,\t]", f"capinfos' table; {CAPTURE}"),
        *(
            (pattern, f"{tool}'s records of flows, which are not read; {CAPTURE}")
            for tool, pattern in (
                (
                    "Argus",
                    rb"\A\s*\"?(?:StartTime|StartDate)\b"
                    rb"(?:.{0,80}?\b(?:Flgs|SrcAddr|DstAddr|Sport|Dport|Dir|TotPkts|TotBytes)\b){2}",
                ),
                (
                    "nfdump",
                    rb"\ADate first seen +|\A(?:ts,te,td,(?:pr,)?(?:sa|sp)|firstSeen,(?:lastSeen,)?duration,)"
                    rb"|^Summary: total flows: \d",
                ),
                ("SiLK", rb"\A +sIP\| +dIP\|"),
                (
                    "CICFlowMeter",
                    rb"\A\"?(?:Flow ID|Destination Port|Dst Port)\"?, ?\"?(?:Src IP|Source IP|Flow Duration"
                    rb"|Protocol)\b",
                ),
                ("Tstat", rb"\A#(?:\d+#)?c_ip(?::\d+)? c_port"),
                ("p0f", rb"\A--- p0f \d|\A\[\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\] mod=\w+\|cli="),
                ("ntopng or nProbe", rb"\A\"?%?(?:IPV4_SRC_ADDR|L4_SRC_PORT|FLOW_START_MILLISECONDS)\"?[|,;]"),
                ("nDPI", rb"\A-{20,}\n\* NOTE: This is demo app|\A#?flow_id[|,;]protocol[|,;]first_seen"),
            )
        ),
        (
            rb"\Ainterface: \S+ \([\d.]+/[\d.]+\)\n|\A(?:#+\n)?[TUI] (?:\d{4}/\d\d/\d\d \S+ "
            rb"|\+\S+ )?\S+:\d+ -> \S+:\d+ ",
            f"ngrep's text; {CAPTURE}",
        ),
        (rb"\A(?:StartTime;LastResetTime;CurrentTime;|-+ Scenario Screen -+)", f"SIPp's statistics; {CAPTURE}"),
        (
            rb"^.{0,200}application/x-rtp-(?:source|session)-stats",
            "GStreamer's statistics; record tcpdump -w FILE.pcap",
        ),
        (rb"\A\d{10}\.\d{9} [\d.]+ [\d.]+ [^\s+]+:\d+\+[^\s+]+:\d+$", "ePPing's text; run it with --format json"),
        # Speed tests.
        (rb"^ *Speedtest by Ookla", "text of Ookla's client; run it with --format=json"),
        (
            rb"\A\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] \[(?:error|warning)\] "
            rb"(?:Configuration|Error|Cannot|Trying to get|Server Selection|Latency test|Protocol|Limit|Timeout)\b",
            "an error message of Ookla's client, which measured nothing; run it again",
        ),
        (
            rb"\A(?:Retrieving server list from |Using (?:local|custom) server list|Ping:\s+[\d.]+ ms\s+Jitter:)",
            "text of LibreSpeed's client; run it with --json",
        ),
        (rb"\A\s*speedtest-go v\d", "speedtest-go's text, which is not read; run Ookla's client with --format=json"),
        (
            rb"^Type +Payload \| +min/max/avg in mbit/s|\A(?:Starting Cloudflare"
            rb"|\s*Server location: .*\n\s*Your IP: )",
            "text of a client of Cloudflare's test, which is not read; run cloudflare-speed-cli --json",
        ),
        (
            rb"^(?:\S+ \S+ \S+ )?Go Responsiveness to ",
            "goresponsiveness' text, which is not read; run networkQuality -c on a Mac, or flent",
        ),
        (
            rb"\A(?:\s*Retrieving speedtest\.net configuration|Ping: [\d.]+ ms$|Server ID,Sponsor,Server Name,"
            rb"|\d+(?:,(?:\"[^\"\n]{1,100}\"|[^\",\n]{1,100})){2},\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z(?:,[\d.]+){4}"
            rb"(?:,(?:http[^,\n]*)?,[\d.]*)?$)",
            "speedtest-cli's text; run it with --json",
        ),
        (
            rb"\A(?:\"?server name\"?[,;\t]\"?server id\"?[,;\t]"
            rb"|\"[^\"\n]{1,100}\"[,;\t]\"\d+\"(?:[,;\t]\"(?:[\d.]*|N/A)\"){7}[,;\t]\"(?:\"|https?://))",
            "table of Ookla's client; run it with --format=json",
        ),
        (rb"\ATimestamp,Server Name,Address,Ping,Jitter,", "table of LibreSpeed's client; run it with --json"),
        (rb"\Atest_type,payload_size,", "table of cfspeedtest, which is not read; run Ookla's client"),
        (
            rb"\A\s*(?:-> )?[\d.]+ [KMG]bps(?: \xe2\x86\x93)?(?:\s*\Z| / [\d.]+ [KMG]bps)",
            "fast-cli's text; run it with --json",
        ),
        (
            rb"\A(?:download|upload)(?: in progress with |: complete)|^Test results\n\s*Server: ",
            "ndt7-client's text; run it with -quiet -format=json",
        ),
        (
            rb"\A\"?id\"?,\"?date\"?,\"?a[._](?:UUID|TestTime|CongestionControl|MeanThroughputMbps|MinRTT"
            rb"|LossRate)\b",
            "a table of M-Lab, which is not read; give the results of NDT in its archive",
        ),
        (
            rb"^ *={2,} ?SUMMARY\b.*\n.{0,40}\bcapacity: "
            rb"|\A(?:Current (?:download|upload) capacity|Downlink: capacity|Uplink: capacity)",
            "networkQuality's text; run it with -c",
        ),
        # Pages.
        (
            rb"^(?:[\d:.]{8,15} )?(?:\* {2,3}Trying |\* +Host \S+ was resolved|\* Connected to |== Info: )"
            rb"|\A +% Total +% Received|\A(?:curl: \(\d+\) |HTTP/[\d.]+ \d{3}\b)"
            rb"|\A\s*time_(?:namelookup|connect|appconnect|pretransfer|starttransfer|total):? *[:=]",
            f"curl's text; {CURL}",
        ),
        (
            rb"\A\d{4}-\d\d-\d\d \d\d:\d\d:\d\d URL:\S+ \[\d",
            "wget's short log (-nv), which has no duration; load pages with LC_ALL=C wget -p -a FILE URL",
        ),
        (rb"^ *DNS Lookup +TCP Connection ", f"httpstat's text, which is not read; {CURL}"),
        (
            rb"\A\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}[: ]\d\d:\d\d:\d\d(?: [+-]\d{4})?\] \"",
            f"a web server's log of requests, which is not read; {CURL}",
        ),
        (
            rb"\A\"?(?:requestedUrl\"?,\"?finalUrl|category\"?,\"?(?:name|score)\"?,\"?(?:title|score))\"?,",
            "Lighthouse's table; run it with --output=json",
        ),
        # Video.
        (rb"\A\{\d+\}\{\d+\}frame: \d+\|", "libvmaf's subtitles; write its JSON: vmaf --json -o FILE.json"),
        (
            rb"^(?:VMAF version \d|VMAF score = [\d.]+|vmaf_(?:\w{1,12}_)?v\d[\w.]*: [\d.]+\s*$"
            rb"|Start calculating VMAF score)",
            "libvmaf's summary of a clip; write per-frame scores: vmaf --json -o FILE.json",
        ),
        (rb"\A(?:Asset: \{|Frame 0: \w+:)", "libvmaf's per-frame text; write its JSON: vmaf --json -o FILE.json"),
        (rb"\An: +\d+ +XPSNR ", "XPSNR of ffmpeg, which is not read; use its filters libvmaf, ssim or psnr"),
        (
            rb"^\[(?:Parsed_)?(?:libvmaf|ssim|psnr)(?:_\d+)? @",
            "ffmpeg's summary of a clip; write per-frame scores: libvmaf=log_fmt=json:log_path=FILE.json",
        ),
        (
            rb"\Aff(?:mpeg|play) version |\Aframe=\d+\nfps=",
            "ffmpeg's log, which has no scores; write per-frame scores: libvmaf=log_fmt=json:log_path=FILE.json",
        ),
        (
            rb"\Affprobe version |\A\[(?:FORMAT|STREAM|FRAME|PACKET|CHAPTER)\]$"
            rb"|\A(?:(?:packet|frame)[,|](?:video|audio)[,|]\d+(?:[,|][^,|\n]*){5}"
            rb"|stream[,|]\d+[,|]\w+[,|][^ ,|\n]+ [^,|\n]*[,|])"
            rb"|\A(?:streams\.stream|frames\.frame|packets\.packet|format)\.\S+=|\A<\?xml[^>]*>\s*<ffprobe>"
            rb"|\AGeneral\nComplete name +:",
            "a description of a clip (ffprobe, MediaInfo), which has no scores; write those of libvmaf as JSON",
        ),
        (rb"\A(?:Setting pipeline to |\d:\d\d:\d\d\.\d{9} +\d+ 0x)", "GStreamer's log; record tcpdump -w FILE.pcap"),
        (
            rb"\A(?:P\.862 |REFERENCE\s+DEGRADED\s+PESQMOS|DEGRADED\s+PESQMOS|reference,degraded,moslqo)",
            "scores of PESQ or ViSQOL, which are not read; give them as a table with a study description",
        ),
        # Screens.
        (rb"\AScript started on ", "a recording of a terminal (script); give the file that the tool itself writes"),
    )
)
