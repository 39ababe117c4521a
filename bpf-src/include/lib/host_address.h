/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Addresses that no host has on the wire: RFC 1122, section 3.2.1.3, RFC 4291, section 2.5 and RFC 6890. The stack of a
 * node may give them a meaning of its own, such as that of its loopback.
 */
#ifndef AGENT_LIB_HOST_ADDRESS_H
#define AGENT_LIB_HOST_ADDRESS_H

#include "lib/packet.h"

#define IPV4_LOOPBACK_NETWORK 127
#define IPV4_MULTICAST_FIRST 224 /* and the reserved ones with the limited broadcast behind it */
#define IPV6_MULTICAST 0xff

/* Returns whether a host may have the address: not those of 0/8, 127/8, 224/4 and 240/4. */
static __always_inline bool ipv4_is_of_host(__be32 address)
{
	const __u32 network = *(const __u8 *)&address; /* in network byte order */

	return network - 1 < IPV4_MULTICAST_FIRST - 1 && network != IPV4_LOOPBACK_NETWORK;
}

/*
 * Returns whether a host may have the address: not those of ::/96 (unspecified, loopback, IPv4-compatible), ::ffff:0:0/96
 * (IPv4-mapped) and ff00::/8.
 */
static __always_inline bool ipv6_is_of_host(const union address *address)
{
	const __u32 first = address->words[0], third = address->words[2];

	if (unlikely(!(first | address->words[1])))
		return third && third != bpf_htonl(0xffff);
	return (bpf_ntohl(first) >> 24) != IPV6_MULTICAST;
}

static __always_inline bool address_is_of_host(const union address *address, __u8 family)
{
	return family == FAMILY_IPV4 ? ipv4_is_of_host(address->v4) : ipv6_is_of_host(address);
}

/* Returns whether both addresses are those of hosts. */
static __always_inline bool packet_is_of_hosts(const struct packet *packet)
{
	return address_is_of_host(&packet->source, packet->family) &&
	       address_is_of_host(&packet->destination, packet->family);
}

#endif
