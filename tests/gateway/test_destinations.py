"""What may be sent to: spellings, machines and ports. Names and redirects are in tests/hub/test_outbound.py."""

import ipaddress

import pytest

from taskyard.gateway.destinations import (
    Allowed,
    BadDestination,
    is_public,
    objection_to,
    objection_to_addresses,
    read_allowed,
    read_destination,
)

NOTHING = Allowed()

NOT_AN_ADDRESS = [
    *("", "https://", "example.com/hook", "//example.com/hook", "ftp://example.com/hook"),
    *("file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "javascript:alert(1)", "https:/example.com"),
    *("https://user@example.com/", "https://user:word@example.com/", "https://example.com@127.0.0.1/"),
    *("https://127.0.0.1#@example.com/", "https://example.com\\@127.0.0.1/", "https://example.com/#fragment"),
    *("https://example.com:99999/", "https://example.com:0/", "https://example.com:/"),
    *("https://example.com:port/", "https://exa mple.com/", " https://example.com/"),
    *("https://example.com/\r\nHost: 127.0.0.1", "https://example.com/a b", "https://example.com/ü"),
    *("https://①②⑦.⓪.⓪.①/", "https://\uff45xample.com/", "https://ex\u0430mple.com/", "https://127。0。0。1/"),
    *("https://example.com./", "https://.example.com/", "https://-example.com/", "https://example..com/"),
    f"https://{'a' * 64}.com/",
    f"https://{'a.' * 130}com/",
    f"https://example.com/{'a' * 2048}",
    *("https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0x7F.1/"),
    *("https://017700000001/", "https://0177.0.0.1/", "https://127.1/", "https://127.0.1/"),
    *("https://127.000.000.001/", "https://256.256.256.256/", "https://1.2.3.4.5/", "https://example.1/"),
    *("https://[127.0.0.1]/", "https://[::1/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/"),
    *("https://[::ffff:127.0.0.256]/", "https://[]/"),
]

NOT_PUBLIC = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1"),
    *("127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255"),
    *("192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1"),
    *("::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::"),
    *("2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254"),
    *("fe80::1", "fec0::1", "ff02::1", "ff0e::1"),
]


@pytest.mark.parametrize("url", NOT_AN_ADDRESS)
def test_what_is_not_spelled_as_an_address_is_none(url: str) -> None:
    with pytest.raises(BadDestination) as bad:
        read_destination(url)
    assert str(bad.value).endswith(".")


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_a_machine_that_not_everybody_can_reach_is_refused_by_its_number(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not is_public(address)
    destination = read_destination(f"https://[{text}]/" if address.version == 6 else f"https://{text}/")
    assert "is not a public address" in (objection_to(destination, NOTHING) or "")


@pytest.mark.parametrize(
    "text",
    ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001::200e", "64:ff9b::1.1.1.1"],
)
def test_a_machine_on_the_internet_may_be_reached(text: str) -> None:
    address = ipaddress.ip_address(text)
    destination = read_destination("https://example.com/hook")
    assert is_public(address)
    assert objection_to_addresses(destination, [address], NOTHING) is None


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    addresses = [ipaddress.ip_address(text) for text in ("1.1.1.1", "10.0.0.1")]
    objection = objection_to_addresses(read_destination("https://example.com/"), addresses, NOTHING)
    assert (
        objection
        == "example.com does not resolve, or not to public addresses only, and `notifications.allow` does not list it."
    )


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("https://Example.COM", "https://example.com:443/"),
        ("HTTPS://example.com:8443/A/b?c=D", "https://example.com:8443/A/b?c=D"),
        ("https://example.com?x=1", "https://example.com:443/?x=1"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example:443/"),
        ("https://[2606:4700:0::1111]/x", "https://[2606:4700::1111]:443/x"),
        ("http://my_host/", "http://my_host:80/"),
    ],
)
def test_an_address_has_one_spelling(url: str, spelled: str) -> None:
    assert read_destination(url).url == spelled


@pytest.mark.parametrize(
    ("url", "objection"),
    [
        ("http://example.com/", "Only https:// is sent to, unless `notifications.allow` lists the host."),
        ("http://1.1.1.1/", "Only https:// is sent to, unless `notifications.allow` lists the host."),
        (
            "https://example.com:22/",
            "Port 22 is not sent to, unless `notifications.allow` lists the host; possible: 443.",
        ),
        (
            "https://1.1.1.1:6379/",
            "Port 6379 is not sent to, unless `notifications.allow` lists the host; possible: 443.",
        ),
    ],
)
def test_what_is_public_is_reached_encrypted_and_through_few_ports(url: str, objection: str) -> None:
    assert objection_to(read_destination(url), NOTHING) == objection


def test_a_host_that_is_listed_is_reached_in_any_way() -> None:
    allowed = read_allowed(["Hooks.Internal", "10.1.0.0/16", "[::1]"], [443])
    private, inside = ipaddress.ip_address("192.168.1.1"), ipaddress.ip_address("10.1.2.3")
    by_name = read_destination("http://hooks.internal:9000/")
    assert objection_to(by_name, allowed) is None
    assert objection_to_addresses(by_name, [private], allowed) is None
    for url in ("http://10.1.2.3:9000/", "http://[::1]:80/", "http://[::ffff:10.1.2.3]/"):
        assert objection_to(read_destination(url), allowed) is None
    # A name may stand for what is in the network, and for nothing else that is private, or by a way that is not open.
    other = read_destination("http://other.example/")
    assert objection_to(other, allowed) is None
    assert objection_to_addresses(other, [inside], allowed) is None
    assert objection_to_addresses(other, [inside, private], allowed) is not None
    assert "https" in (objection_to_addresses(other, [ipaddress.ip_address("1.1.1.1")], allowed) or "")


@pytest.mark.parametrize("entry", ["", "10.0.0.1/8", "10.0.0.0/33", "http://a/", "a b", "*.example.com", "127.1"])
def test_what_is_neither_a_host_nor_a_network_cannot_be_listed(entry: str) -> None:
    with pytest.raises(BadDestination, match="is neither a host"):
        read_allowed([entry], [443])
