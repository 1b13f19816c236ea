"""Every form in which a text names a host is replaced by a key, and what only looks like one stands."""

from __future__ import annotations

import time
import unicodedata
from itertools import product

import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.forgotten import ForgottenHosts
from sojourn_ingest.formats.interface import LONGEST_REASON, Reading
from sojourn_ingest.host_names import HostNames
from sojourn_ingest.hosts_in_text import HIDDEN, HOST_KEY, hosts_in, naming, without_addresses
from sojourn_ingest.input_error import LONGEST_MESSAGE, InputError
from sojourn_ingest.schema.column import LONGEST_TEXT

KEY = b"key"
V4, V6 = "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"
FORMS_OF_V4 = (
    V4, "093.184.216.034", "93-184-216-34", "93_184_216_34", "93[.]184[.]216[.]34", "93(dot)184(dot)216(dot)34",
    "0x5d.0xB8.0xd8.0x22", "::ffff:93.184.216.34", "::ffff:5db8:d822", "[::FFFF:93.184.216.34]",
    "http://1572395042/", "http://0x5DB8D822/", "http://anna@93.12113954", "34.216.184.93.in-addr.arpa",
    "93%2E184%2e216%2E34", "93%252E184%252E216%252E34", "93&#46;184&#x2E;216&period;34", "93\\u002e184.216.34",
    "９３．１８４．２１６．３４", "93。184｡216.34", "٩٣.١٨٤.٢١٦.٣٤",
    "93.184.\u200b216.34", "93\u2010184\u2010216\u201034",
    "%93.184.216.34", "5%93.184.216.34", "%2593.184.216.34", "%252593.184.216.34", "93.184.216[.]34", "93[.]184.216.34",
    "93.184(.)216[dot]34", "93.184-216.34", "93_184.216.34", "93·184·216·34", "93•184.216·34",
    "93\\.184\\.216\\.34", "93\\\\.184\\\\.216\\\\.34", "93\\.184.216\\.34", "93\\-184\\-216\\-34",
    "93\\x2e184\\x2E216\\x2e34",
    "93\\056184\\056216\\05634", "93{.}184{.}216{.}34", "93{dot}184[.]216(DOT)34", "93 dot 184 dot 216 dot 34",
    "93dot184DOT216Dot34", "93\\\\u002e184\\u002E216.34", "93%u002e184%25u002E216.34",
    "93&amp;#46;184&amp;amp;period;216.34",
    "93&#46184&#x2e216.34", "93\\u{2e}184\\x{2E}216.34", "93\\U0000002e184.216.34", "93=2E184=2e216=2E34",
    "93 [.] 184 (dot) 216 {.}34", "93\\\\\\\\\\.184\\\\\\\\\\\\.216.34", "fe80::5efe:5db8:d822",
    "93.18\u034f4.216.34", "93.184.\u115f216.34", "93･184･216･34",
    "%93&#46;184&#46;216&#46;34", "%2593%2E184%2e216%2E34", "\\x93\\x2e184\\x2e216\\x2e34",
    "c::ffff:5db8:d822", "1:face::ffff:5db8:d822", "3-c0:0:0:0:0:ffff:5db8:d822",
)  # fmt: skip
FORMS_OF_V6 = (
    V6, V6.upper(), "2606:2800:0220:0001:0248:1893:25c8:1946", f"[{V6}]", f"{V6}%eth0", V6.replace(":", "%3A"),
    V6.replace(":", "-"), V6.replace(":", "："), "2606:2800:220:1:248:1893:37.200.25.70", f"http://[{V6}]:443/",
    f"ip6-{V6.replace(':', '-')}", f"be-{V6.replace(':', '-')}", f"2026-11-20-{V6.replace(':', '-')}-9",
    V6.replace(":", "_"), V6.replace(":", "&amp;#58;"),
    V6.replace(":", "[:]"), V6.replace(":", "\\:"), V6.replace(":", "\\x3a"), V6.replace(":", "(:)"),
    V6.replace(":", " "),
)  # fmt: skip
NAMES = (
    "02-00-5E-AA-BB-01", "02:00:5e:aa:bb:01", "2:0:5e:aa:bb:1", "02 00 5e aa bb 01", "02_00_5e_aa_bb_01",
    "0200.5eaa.bb01", "0200-5eaa-bb01", "00-50-56-12-34-56", "02:00:5e:ff:fe:aa:bb:01",
    "0200.5eff.feaa.bb01", "host.xn--p1ai", "пример.рф", "host.example.org", "HOST.EXAMPLE.ORG", "भारत.भारत",
    "ｈｏｓｔ．ｅｘａｍｐｌｅ．ｏｒｇ", "host%2Eexample%2Eorg", "anna.schmidt@example.org",
    "ec2-93-184-216-34.compute.amazonaws.com", "10.4.8.8.in-addr.arpa", "6.4.9.1.8.c.5.2.ip6.arpa",
    "fe80::200:5eff:feaa:bb01", "evil[.]com", "example(.)com", "www.example[dot]org", "a[.]b(DOT)org",
    "ec2-52-18-20-6", "run2-8-8-8-8", "host12-52-18-20-6.compute",
    "2a00-1450-4001-82b--200e", "2a00-1450-4001-82b--200e-eth0", "2a00_1450_4001_82b__200e",
    "2001:db8::200:5eff:feaa:bb01", "0x02:0x00:0x5e:0xaa:0xbb:0x01", "02,00,5e,aa,bb,01", "02005e-aabb01",
    "0200 5eaa bb01", "пример.рф5", "caf%E9.example.org", "\\ud800.example.org",
    "host\\.example\\.org", "host{.}example{.}org", "02\\:00\\:5e\\:aa\\:bb\\:01",
)  # fmt: skip
#: What stands next to a form, without being a part of it.
AROUND = (
    ("", ""), ("host", ""), ("x_", "_y"), ("test of ", ", again"), ("(", ")"), ("é", "ü"), ("k=", ";"), ("eth0:", ""),
    ('"', '"'), ("-", "-x"), ("a/", "/b"), ("→", "→gw"), ("5²", "³x"), ("\x1b[1m", "\x1b[0m"),
)  # fmt: skip
STANDS = (
    "1.2.3", "v6.1.0-13", "5.15.0-91-generic", "Chrome/120.0.6099.109", "4.19.y", "1.2.3-rc.1", "2026-11-20",
    "2026-11-20T10:30:15.123Z", "20.11.2026", "20.11.26", "2026-11-20-10-30-15", "2026_11_20_10_30", "10:20:30",
    "26-11-20-10-30-15", "2026-11-20--10-30", "00:00:01.500", "2026:11:20 10:30:15", "10.5Mbit/s",
    "rate:10Mbit/10Mbit", "10 20 30 40 50 60", "10-20-30-40-50-60", "1,2,3,4", "bbr_100_50_2bdp_rep1",
    "cbr_dn_bw4000_rtt50_taildrop-2bdp_cubic_rtp-cbr_appfirst_rep1", "1234-5678-9012", "1234.5678.9012",
    "550e8400-e29b-41d4-a716-446655440000", "abcdef12-abcd-4abc-8abc-abcdefabcdef", "10.0.0.1", "192.168.1.1",
    "203.0.113.9", "2001:db8::1", "fe80::1", "::1", "a::b", "8001:", "1:10", "qdisc_stats_eth0::dropped",
    "results.json", "run1.flent.gz", "bbr@100ms", "50%", "100%25", "clip/0", "e.g. this", "测试。结果",
    "hk-0123456789abcdef0123456789abcdef::x", "tcp 8 down - fq_codel", "rates-10-20-30-40", "10_20_30_40 Mbit",
    "10.5-20.5", "0.125-0.25 s", "2026-11-20_10.30.15", "5%", "%25", "2·3·4", "CUBIC·BBR", "f(x)[0]",
    "C:\\data\\run.1", "a polka dot 3", "2 dots 3", "\\.json",
    "run2026-11-20-10-30", "2026-11-20T12-30-15-02-00", "bw100_50_20_10_5", "3000_1000__500_20_10",
    "00,10,20,30,40,50", "2000 3000 4000 5000 6000 7000 8000 9000", "4500 003c 1c46 4000 4006 b1e6 ac10 0a63",
    "93,184,216,34", "2000 face 3000 4000",
    "BE,DE,CA,EE,AE,FA", "1e06 2e06 3e06", "1000e6-2000e6", "1500 face 2000", "4500 003c 1c46 4000 4006",
    "k=2E", "3 [.]",
    "line: run.bandwidth_bps", "opus/48000/2",
    "1.5±0.2 ms", "2×10.5 Mbit", "0.5²", "20.5°C", "3.2µs→4.1µs", "v1.2.3→v1.2.4", "run.csv→out.json", "1.2.3×4",
    "½·10.5", "①2.3.4", "fe80::ffff:ffff:fffe", "c::1", "10::2", "face::b:1",
)  # fmt: skip


def signs() -> list[str]:
    """Return a symbol, number, punctuation mark, space and control of each kind, as what it may be read as begins."""
    kinds: dict[tuple[str, str], str] = {}
    for number in range(0x80, 0x20000):
        category = unicodedata.category(chr(number))
        if category[0] in "SPZ" or category in ("No", "Nl", "Cc", "Co"):
            normal = unicodedata.normalize("NFKC", chr(number))
            # Letters stand for one another, and so do digits.
            ends = ("a" if end.isalpha() else "1" if end.isdecimal() else end[end > "\x7f" :] for end in normal)
            kinds.setdefault((category, "".join(ends)[:3]), chr(number))
    return list(kinds.values())


SIGNS = signs()


@pytest.fixture
def hosts() -> HostNames:
    return HostNames(Pseudonymiser(KEY))


@pytest.mark.parametrize("form", FORMS_OF_V4)
def test_every_form_of_an_ipv4_address_becomes_its_key(hosts: HostNames, form: str) -> None:
    key = Pseudonymiser(KEY).keys(V4)[0]
    for before, behind in AROUND:
        replaced = hosts.replaced(f"{before}{form}{behind}")
        assert key in replaced, before
        assert not any(part in replaced for part in ("184", "216", "216", "1572395042", "5DB8")), replaced


def test_a_number_of_html_may_begin_with_any_number_of_zeros(hosts: HostNames) -> None:
    for kind in ("&#{}46;", "&#{}46", "&#x{}2e;"):
        replaced = hosts.replaced(f"93{kind.format('0' * 1000)}184.216.34")
        assert replaced == Pseudonymiser(KEY).keys(V4)[0]


@pytest.mark.parametrize("form", FORMS_OF_V6)
def test_every_form_of_an_ipv6_address_becomes_its_key(hosts: HostNames, form: str) -> None:
    key = Pseudonymiser(KEY).keys(V6)[0]
    # With another group or letter next to it, a form may be another address; nothing of it stands either.
    for before, behind in AROUND:
        replaced = hosts.replaced(f"{before}{form}{behind}")
        assert "hk-" in replaced
        assert "2606" not in replaced, replaced
        assert "2800" not in replaced.upper(), replaced
        assert key in replaced or before in ("eth0:", "-"), replaced


@pytest.mark.parametrize("form", NAMES)
def test_names_and_hardware_addresses_become_keys(hosts: HostNames, form: str) -> None:
    for before, behind in AROUND:
        replaced = hosts.replaced(f"{before}{form}{behind}")
        assert "hk-" in replaced, before
        assert form not in replaced, before
        assert hosts.replaced(replaced) == replaced


@pytest.mark.parametrize("name", ["srv7.cloud_up", "alice.online-2", "kunde.berlin-idle", "box.museum_1", "a.dev_1"])
def test_a_word_may_follow_a_newer_domain(hosts: HostNames, name: str) -> None:
    replaced = hosts.replaced(f"UDP {name}")
    assert replaced.startswith("UDP hk-")
    assert name.partition(".")[0] + "." not in replaced


@pytest.mark.parametrize("form", [*FORMS_OF_V4, *FORMS_OF_V6, *NAMES])
def test_a_form_is_found_beside_every_sign(form: str) -> None:
    found = hosts_in(f"{form} ")
    for sign in (*SIGNS, "%", "%25", "\0", "〇"):
        for before, behind in ((f"Ping{sign}", " x"), ("x ", f"{sign}gw")):
            inside = {place for host in hosts_in(f"{before}{form}{behind}") for place in range(host.start, host.end)}
            for host in found:
                assert inside.issuperset(range(len(before) + host.start, len(before) + host.end)), (before, behind)


@pytest.mark.parametrize(
    "name", ["col·legi.cat", "ג׳ינס.ישראל", "テスト・例.jp", "〇一.中国", "i❤.ws", "anna@i❤.ws", "caf%E9.example.org"]
)
def test_a_name_keeps_its_own_signs(hosts: HostNames, name: str) -> None:
    assert HOST_KEY.fullmatch(hosts.replaced(name))


def test_a_name_beside_a_sign_has_the_key_that_it_has_alone(hosts: HostNames) -> None:
    name = "p5b0e22d1.dip0.t-ipconnect.de"
    for sign in "→×·°±²©⇒€🙂—":
        assert hosts.replaced(f"Ping (ms){sign}{name}{sign} 20") == f"Ping (ms){sign}{hosts.replaced(name)}{sign} 20"
    assert hosts.replaced("c-1.hsd1.ca.comcast.net→x") == f"{hosts.replaced('c-1.hsd1.ca.comcast.net')}→x"


def test_four_digits_by_colons_are_a_hardware_address_unless_others_follow(hosts: HostNames) -> None:
    assert "feaa" not in hosts.replaced("x_0200:5eff:feaa:bb01_y")
    assert hosts.replaced("2001:db8:0200:5eff:feaa:bb01::") == "2001:db8:0200:5eff:feaa:bb01::"


@pytest.mark.parametrize("text", STANDS)
def test_versions_dates_and_rates_stand(hosts: HostNames, text: str) -> None:
    for before, behind in (("", ""), ("run ", " of 3"), ("x=", ";")):
        assert hosts.replaced(f"{before}{text}{behind}") == f"{before}{text}{behind}"


def test_settings_in_a_message_are_no_addresses() -> None:
    for text in ("rates-10-20-30-40", "10_20_30_40 Mbit"):
        assert without_addresses(text, private=False) == text
        # Pages show no private address, whatever looks like one.
        assert HIDDEN in without_addresses(text)
    assert without_addresses("host 10.20.30.40") == f"host {HIDDEN}"
    assert without_addresses("host-93-184-216-34") == f"host-{HIDDEN}"


def test_a_citation_keeps_its_web_site_and_no_address(hosts: HostNames) -> None:
    citation = "A. Author, https://doi.org/10.1145/3473604, and example.org"
    assert hosts.replaced(citation, names=False) == citation
    for form in FORMS_OF_V4 + FORMS_OF_V6:
        assert "hk-" in hosts.replaced(f"see {form}", names=False)


def test_a_policy_that_keeps_addresses_keeps_every_form_but_of_who_is_forgotten() -> None:
    forgotten = ForgottenHosts(b"forget", fingerprints=frozenset({plain_fingerprint(V4)}))
    kept = HostNames(Pseudonymiser(KEY, "keep"))
    left_out = HostNames(Pseudonymiser(KEY, "keep", forgotten))
    for form in FORMS_OF_V4:
        assert kept.replaced(f"x_{form}_y") == f"x_{form}_y"
        assert "hk-forgotten" in left_out.replaced(f"x_{form}_y"), form
        assert naming({V4})(f"x_{form}_y"), form
    for form in FORMS_OF_V6:
        assert naming({V6})(f"x_{form}_y"), form


def plain_fingerprint(host: str) -> str:
    return Pseudonymiser(KEY, forgotten=ForgottenHosts(b"forget")).forget_fingerprint(host)


@pytest.mark.parametrize(
    "part",
    ["1.", "1-", "1_", "0x1.", "255.", "[.]1", "2606:", ":", "a:", "::", "fe80::", "02:", "02-", "02 ", "0200.",
     "0200-", "a.", "a-", "a_", "a@", "a@a.", "xn--", "-", ".", "http://", "://1@", "://1.", "%2E", "&#46;", "%25",
     "\\u002e", "９", "。", "भारत.", "1.in-addr.arpa", "a.ip6.arpa", "in-addr.", "hk-", "hk-" + "0" * 32,
     "2a00-", "a--", "\\", "\\.", "1\\.", "\\x2e", "\\056", "1 dot ", "1dot", "{.}", "[:]",
     "&amp;", "&amp;#0", "%u002e", "=2E", "1=2E", "1 [.] ", "\\\\\\\\\\.", "2a00_", "2a00-1-", "2a--1-", "a2-", "02,",
     "0200 ", "0x02:", "02005e-", "рф5."],
)  # fmt: skip
def test_a_text_takes_time_in_proportion_to_its_length(part: str) -> None:
    def seconds(characters: int) -> float:
        text = part * (characters // len(part)) + "\0"
        started = time.thread_time()
        hosts_in(text)
        return time.thread_time() - started

    # Sixteen times the text takes 16 times as long, and 256 times if each character is read again for each. A busy
    # neighbour makes a measurement two or three times as long.
    assert min(seconds(12_000) for _ in range(2)) < 64 * max(min(seconds(750) for _ in range(3)), 0.001)


def test_a_text_that_no_row_may_have_is_not_searched_and_stays_too_long(hosts: HostNames) -> None:
    started = time.thread_time()
    replaced = hosts.replaced("fe80::" * 1_000_000)
    assert time.thread_time() - started < 1
    assert LONGEST_TEXT < len(replaced) < 2 * LONGEST_TEXT
    assert "fe80" not in replaced


@pytest.mark.parametrize("part", [":", "fe80::", "x", "％３Ａ"])
def test_of_a_title_the_beginning_is_read(hosts: HostNames, part: str) -> None:
    started = time.thread_time()
    title = hosts.replaced_in_title(f"qdisc:codel {V4} {part * 300_000}")
    assert time.thread_time() - started < 1
    assert title.startswith(f"qdisc:codel {Pseudonymiser(KEY).keys(V4)[0]} ")
    assert len(title) == 1000
    for place in range(980, 1001):
        assert "93.1" not in hosts.replaced_in_title(f"{('y ' * 500)[:place]} {V4} {part * 300_000}")


def test_forms_that_follow_one_another_are_all_replaced(hosts: HostNames) -> None:
    for first, second in product((*FORMS_OF_V4, *NAMES), (V4, "02-00-5E-AA-BB-01", "host.xn--p1ai")):
        replaced = hosts.replaced(f"{first} {second}")
        assert second not in replaced
        assert first not in replaced


def test_a_message_keeps_private_addresses_and_versions_alone() -> None:
    for kept in ("write prefixes as 192.0.2.0/24", "peer 10.0.0.1", "line 3: a::b", "2001:db8::1"):
        assert InputError("reason", kept).message == kept
    for form in (*FORMS_OF_V4, *FORMS_OF_V6, "2001:0:5db8:d822::1"):
        error = InputError("reason", f"unit 's {form}' is not one of ms")
        assert str(error) == error.message
        assert "‹address›" in error.message, form


def test_a_message_names_no_host_and_keeps_names_of_files() -> None:
    for name in NAMES:
        message = InputError("reason", f"it lacks start {name} and run.csv; adapt summary.json").message
        assert name not in message
        assert message.startswith("it lacks start ")
        assert message.endswith(" and run.csv; adapt summary.json")
    own = "it has no number (refused: 3 ping.latency: not a number)"
    assert InputError("reason", own, has_public_names=True).message == own


@pytest.mark.parametrize("part", [":", "K", "a.b-", "\u200b", "%25", "93.184.216.34 ", "y "])
def test_a_long_message_is_its_beginning_and_its_end(part: str) -> None:
    started = time.thread_time()
    message = InputError("reason", f"manifest: links/{part * 1_000_000}: not a key; correct it").message
    assert time.thread_time() - started < 1
    assert message.startswith("manifest: ")
    assert message.endswith(": not a key; correct it")
    # A word in the place of a host may be longer than the host.
    assert len(message) <= 2 * LONGEST_MESSAGE
    if HIDDEN not in message:
        assert InputError("reason", message).message == message


def test_what_is_left_out_of_a_message_parts_no_host() -> None:
    for form in (V4, V6, "93 [.] 184 [.] 216 [.] 34", "host.example.org", "02-00-5E-AA-BB-01"):
        of_form = set(InputError("reason", f" {form} ").message) | set("y …")
        # Messages are cut behind 400 characters, and 200 before their end.
        for place in (*range(180, 202), *range(380, 402)):
            before = ("y " * 300)[:place]
            for text in (f"{before} {form} {'y ' * 400}", f"{'y ' * 400} {form} {before}"):
                message = InputError("reason", text).message
                assert "…" in message
                assert set(message) <= of_form, message


def test_a_reason_to_refuse_a_record_has_no_address_and_keeps_names_of_columns() -> None:
    reading = Reading()
    for reason in ("run.rtt_ms: missing", f"key {V4}: {'z' * 1000}", f"key {V4}"):
        reading.refuse(reason)
        reading.refuse(reason)
    assert reading.refused.keys() >= {"run.rtt_ms: missing", f"key {HIDDEN}"}
    assert not [reason for reason in reading.refused if V4 in reason or len(reason) > LONGEST_REASON]
    assert set(reading.refused.values()) == {2}


@pytest.mark.parametrize(
    "name", ["upload::1", "download::4", "upload BE::1", "upload BK::2", "upload CS5::3", "down EF::4"]
)
def test_the_names_of_flents_flows_stand_in_messages(name: str) -> None:
    assert without_addresses(f"TCP {name}") == f"TCP {name}"
