"""Where the hub may send a request on a user's behalf: what an address may look like, and which machines it may mean.

A user names the address, the hub's machine makes the request: without this, anybody could have it call what only it can
reach, such as a database beside it or a cloud's metadata service. So an address is read strictly, in one spelling; a
host is given by its ASCII name or by a plain IP address; and the addresses that a name stands for are judged one by
one (`hub/outbound.py`), just before the connection and again at every request, since a name may change its mind.
"""

import ipaddress
import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from msgspec import Struct

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

URL_CHARS_MAX: Final = 2048
HOST_CHARS_MAX: Final = 253
PORT_MAX: Final = 65_535
SCHEME_PORTS: Final = {"https": 443, "http": 80}

_URL: Final = re.compile(r"(?i:(https?))://(\[[^\]/?#]*\]|[^/?#:\[\]]*)(?::([0-9]{1,5}))?([/?][!-\"$-~]*)?")
# Nothing but printable ASCII, no fragment. A name and password before the host would be taken for the host's own
# characters, which `_NAME` refuses.
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
# A host whose last part is a number is an IPv4 address to some readers, in one of many spellings.

_NOT_PUBLIC: Final[tuple[Network, ...]] = tuple(
    map(
        ipaddress.ip_network,
        (
            "100.64.0.0/10",  # carriers' own, where one cloud has its metadata service
            "168.63.129.16/32",  # another cloud's, at an address that is public to everybody else
            "192.0.0.0/24",  # of the protocols themselves, and of a third cloud
            "192.88.99.0/24",  # 6to4 relays
            "::/96",  # an IPv4 address, spelled in a way that nobody uses in earnest
            "64:ff9b:1::/48",  # a network's own translation into IPv4
            "100:0:0:1::/64",
            "2001::/23",  # of the protocols themselves, Teredo among them
            "2002::/16",  # 6to4: an IPv4 address inside
            "3fff::/20",  # documentation
            "5f00::/16",  # segment routing
            "fec0::/10",  # what private addresses were before they were these
        ),
    )
)
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")


class BadDestination(ValueError):
    """The address is not one that anything is sent to; the message says what one looks like."""


class Destination(Struct, frozen=True):
    """An address that was read. `url` is its one spelling."""

    scheme: str
    host: str
    """In lower case; an IPv6 address without its brackets."""
    port: int
    url: str

    @property
    def address(self) -> Address | None:
        """The host, if it is given by number."""
        return _address_of(self.host)


class Allowed(Struct, frozen=True):
    """What the operator lets be reached besides the public (`notifications.allow`), and through which ports."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    ports: frozenset[int] = frozenset({SCHEME_PORTS["https"]})

    def has_name(self, host: str) -> bool:
        return host in self.names

    def has_address(self, address: Address) -> bool:
        mapped = _unwrapped(address)
        return any(each in network for network in self.networks for each in (address, mapped))


def read_allowed(entries: Iterable[str], ports: Iterable[int]) -> Allowed:
    """Hosts, addresses and networks. `BadDestination` names the entry that is none of them."""
    names: set[str] = set()
    networks: list[Network] = []
    for entry in entries:
        host = entry.lower()
        try:
            networks.append(ipaddress.ip_network(host.strip("[]")))
        except ValueError:
            if not _is_name(host):
                raise BadDestination(
                    f"{entry!r} is neither a host such as hooks.example.com nor a network such as 10.0.0.0/8"
                ) from None
            names.add(host)
    return Allowed(frozenset(names), tuple(networks), frozenset(ports))


def read_destination(url: str) -> Destination:
    found = _URL.fullmatch(url) if len(url) <= URL_CHARS_MAX else None
    if found is None:
        raise BadDestination(
            f"An address has the form https://host/path, in at most {URL_CHARS_MAX} printable ASCII characters, "
            "without a user, a password or a fragment; write an international name in its ASCII form (xn--…)."
        )
    scheme, host, port = found[1].lower(), found[2].lower(), found[3]
    if host.startswith("["):
        literal = _address_of(host[1:-1])
        if not isinstance(literal, IPv6Address) or literal.scope_id is not None:
            raise BadDestination(f"{host} is not an IPv6 address.")
        host = literal.compressed
    elif not _is_name(host) and _address_of(host) is None:
        raise BadDestination(
            f"{host or 'An empty name'} is no host: give its name, or its IPv4 address as four decimal numbers."
        )
    number = SCHEME_PORTS[scheme] if port is None else int(port)
    if not 0 < number <= PORT_MAX:
        raise BadDestination(f"A port is a number from 1 to {PORT_MAX}.")
    shown = f"[{host}]" if ":" in host else host
    path = found[4] or "/"
    return Destination(scheme, host, number, f"{scheme}://{shown}:{number}{path if path[0] == '/' else f'/{path}'}")


def objection_to(destination: Destination, allowed: Allowed) -> str | None:
    """Why nothing is sent there, as far as that can be said before its name is looked up; None: it may be tried."""
    address = destination.address
    if address is not None:
        return objection_to_addresses(destination, (address,), allowed)
    # Of a name it is seen later whether all that it stands for lies in a network that is allowed.
    is_allowed = allowed.has_name(destination.host) or allowed.networks
    return None if is_allowed else _objection_to_way(destination, allowed)


def objection_to_addresses(destination: Destination, addresses: Iterable[Address], allowed: Allowed) -> str | None:
    """The same, of everything the host stands for. All of it must pass: who chose among them chose the way around."""
    if allowed.has_name(destination.host):
        return None
    others = [address for address in addresses if not allowed.has_address(address)]
    if not others:
        return None
    if not all(map(is_public, others)):
        return not_public(destination)
    return _objection_to_way(destination, allowed)


def not_public(destination: Destination) -> str:
    """The same words for a name that stands for nothing and for one of a private network: who asks learns neither."""
    is_name = destination.address is None
    said = "does not resolve, or not to public addresses only" if is_name else "is not a public address"
    return f"{destination.host} {said}, and `notifications.allow` does not list it."


def _objection_to_way(destination: Destination, allowed: Allowed) -> str | None:
    if destination.scheme != "https":
        return "Only https:// is sent to, unless `notifications.allow` lists the host."
    if destination.port not in allowed.ports:
        ports = ", ".join(map(str, sorted(allowed.ports)))
        return (
            f"Port {destination.port} is not sent to, unless `notifications.allow` lists the host; possible: {ports}."
        )
    return None


def is_public(address: Address) -> bool:
    """Whether it is a machine that anybody on the internet could reach as well."""
    address = _unwrapped(address)
    if address.is_multicast or address.is_reserved or address.is_unspecified or not address.is_global:
        return False
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return False
    return not any(address in network for network in _NOT_PUBLIC if network.version == address.version)


def _unwrapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 one carries, if the way to it goes through a translator or the machine itself."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _TRANSLATED:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_name(host: str) -> bool:
    last = host.rpartition(".")[2]
    return len(host) <= HOST_CHARS_MAX and _NAME.fullmatch(host) is not None and _NUMBER.fullmatch(last) is None


def _address_of(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
