/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Identification numbers of whole IPv4 datagrams that get the address of another sender, their own or in an outer header,
 * and may be split behind this node (RFC 6864, sections 4.1 and 4.2: one with DF needs no number of its own). They are
 * counted for all senders together.
 */
#ifndef AGENT_LIB_DATAGRAM_NUMBER_H
#define AGENT_LIB_DATAGRAM_NUMBER_H

#include <linux/ip.h>

#include "lib/compiler.h"
#include "lib/ip.h"
#include "maps/fragment_identity_map.h"

#define DATAGRAM_HASH_FACTOR 0x9e3779b1 /* 2^32 divided by the golden ratio: Knuth, volume 3, section 6.4 */

/* Returns into how many datagrams a device may split the packet, which get numbers in sequence; never too few. */
static __always_inline __u32 datagrams_of(const struct __sk_buff *skb)
{
	return unlikely(skb->gso_size) ? skb->len / skb->gso_size + 1 : 1;
}

/*
 * Returns the first number of some in sequence. former: the number that the sender has chosen, by which the steps are of
 * unequal length, so that a receiver cannot count what others are sent.
 */
static __always_inline __be16 datagram_number(__be32 source, __be32 destination, __u8 protocol, __u32 datagrams,
					      __be16 former)
{
	const __u32 hash = (destination ^ source * 31 ^ protocol) * DATAGRAM_HASH_FACTOR;
	const __u32 index = hash / (1U << 21); /* the 11 highest bits */
	__u32 *last = bpf_map_lookup_elem(&datagram_numbers, &index);

	return last ? bpf_htons((__u16)__sync_fetch_and_add(last, datagrams + (bpf_ntohs(former) & 3))) : former;
}

/* Numbers datagrams that have their new addresses; returns what the sum of the header's words gains by it. */
__local __u32 header_renumber(struct iphdr *ip, __u32 datagrams)
{
	const __be16 former = ip->id;

	ip->id = datagram_number(ip->saddr, ip->daddr, ip->protocol, datagrams, former);
	return (__u16)~former + (__u32)ip->id;
}

/* Returns whether routers may split the datagram. */
static __always_inline bool header_may_be_split(const struct iphdr *ip)
{
	return unlikely(!(ip->frag_off & bpf_htons(IPV4_DONT_FRAGMENT)));
}

#endif
