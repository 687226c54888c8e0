"""Networks of clients, as counted by rate limits."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address

_PREFIX_BITS = 64
"""Length of the IPv6 prefix of one subscriber, who chooses the other bits freely."""


@lru_cache(maxsize=4_096)
def network_of(address: str) -> str:
    """Return the part of an address that a client can't vary: all of IPv4, the /64 of IPv6.

    Otherwise a client with a /64, as every home has, could use 2**64 addresses.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> _PREFIX_BITS << _PREFIX_BITS)}/{_PREFIX_BITS}"
