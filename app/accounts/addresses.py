"""Where requests come from, as far as limits are concerned."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address

_GIVEN_TO_ONE = 64
"""How many bits of an IPv6 address name a connection; the rest is whatever its owner likes."""


@lru_cache(maxsize=4_096)
def network_of(address: str) -> str:
    """Return what one person can't change at will: an IPv4 address, or the first half of an IPv6.

    Otherwise whoever has a /64, as every home has, would have 2**64 addresses to be counted by.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> _GIVEN_TO_ONE << _GIVEN_TO_ONE)}/{_GIVEN_TO_ONE}"
