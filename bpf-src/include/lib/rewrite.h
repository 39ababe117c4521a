/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Rewrites the address and the port of a packet as its conntrack entry says. */
#ifndef AGENT_LIB_REWRITE_H
#define AGENT_LIB_REWRITE_H

#include "lib/checksum.h"
#include "lib/conntrack.h"
#include "lib/masquerade_entry.h"
#include "lib/parse_ipv4.h"
#include "lib/parse_ipv6.h"

#define TCP_CHECKSUM_OFFSET 16
#define UDP_CHECKSUM_OFFSET 6
#define ICMP_CHECKSUM_OFFSET 2
#define ICMP_IDENTIFIER_OFFSET 4

/* With a protocol: what of a packet with it is rewritten. */
#define REWRITE_ADDRESS_ONLY 0x100
#define REWRITE_TO_DESTINATION 0x200 /* else the source */
#define REWRITE_IDENTIFIER 0x400     /* that of an echo, as the port of others */

/* Which of the two ends of an entry a packet gets. */
enum rewrite_with {
	REWRITE_WITH_END = 0,
	REWRITE_WITH_OTHER = 1,
};

/* Returns whether the entry rewrites the packets of this side. */
static __always_inline bool rewrite_applies(const struct conntrack_entry *entry, enum conntrack_side source_side)
{
	return entry->flags & CONNTRACK_REWRITTEN &&
	       !(entry->rewrite & CONNTRACK_REWRITE_FROM_HIGH) == (source_side == CONNTRACK_LOW);
}

/* Returns whether the entry has the tuple of a client's packets to a service before they are translated. */
static __always_inline bool entry_is_frontend(const struct conntrack_entry *entry)
{
	return entry->flags & CONNTRACK_REWRITTEN &&
	       (entry->rewrite & (CONNTRACK_REWRITE_DESTINATION | CONNTRACK_REWRITE_MASQUERADE)) ==
		       CONNTRACK_REWRITE_DESTINATION;
}

/* Returns whether the entry rewrites both addresses of a packet (lib/relay.h). */
static __always_inline bool entry_is_relayed(const struct conntrack_entry *entry)
{
	return entry->flags & CONNTRACK_REWRITTEN && entry->rewrite & CONNTRACK_REWRITE_BOTH;
}

/*
 * Returns whether no packet from the stack is of the flow of the entry: it has the tuple of a client and a service, or of
 * a workload and itself.
 */
static __always_inline bool entry_is_private(const struct conntrack_entry *entry)
{
	return entry_is_frontend(entry) || unlikely(entry_is_relayed(entry));
}

/* Returns the offset of the checksum that covers the pseudo header, or 0: there is none. RFC 9293, RFC 768, RFC 4443. */
static __always_inline __u32 rewrite_checksum_offset(__u32 protocol, __u32 l4_offset)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return l4_offset + TCP_CHECKSUM_OFFSET;
	case IPPROTO_UDP:
		return l4_offset + UDP_CHECKSUM_OFFSET;
	case IPPROTO_ICMPV6:
		return l4_offset + ICMP_CHECKSUM_OFFSET;
	default:
		return 0;
	}
}

/* Returns 1 where the entry rewrites the destination, and 0 where it rewrites the source; a number without a branch. */
static __always_inline __u32 rewrite_destination(const struct conntrack_entry *entry)
{
	return entry->rewrite & CONNTRACK_REWRITE_DESTINATION;
}

static __always_inline const struct conntrack_end *rewrite_end(const struct conntrack_entry *entry,
							       enum rewrite_with with)
{
	return with == REWRITE_WITH_OTHER ? &entry->other : &entry->end;
}

/* Returns 1 where a packet gets the end as its destination, else 0. The other end of a relayed flow is the source then. */
static __always_inline __u32 rewrite_is_destination(const struct conntrack_entry *entry, enum rewrite_with with)
{
	const bool destination = rewrite_destination(entry);

	return with == REWRITE_WITH_OTHER ? destination != !!(entry->rewrite & CONNTRACK_REWRITE_BOTH) : destination;
}

static __always_inline bool end_is(const struct conntrack_end *end, const union address *address, __be16 port_be)
{
	return end->port_be == port_be && address_equals((const union address *)end->address, address);
}

/* Sets an end of a tuple. */
static __always_inline void tuple_set_end(struct tuple *tuple, const struct conntrack_end *end, bool destination)
{
	if (destination) {
		__builtin_memcpy(&tuple->destination, end->address, sizeof(tuple->destination));
		tuple->destination_port_be = end->port_be;
	} else {
		__builtin_memcpy(&tuple->source, end->address, sizeof(tuple->source));
		tuple->source_port_be = end->port_be;
	}
}

/* Returns what rewrite_packet() has to know of an entry, but for the end. */
static __always_inline __u32 rewrite_kind(const struct conntrack_entry *entry, enum rewrite_with with)
{
	return (rewrite_is_destination(entry, with) ? REWRITE_TO_DESTINATION : 0) |
	       (entry->rewrite & CONNTRACK_REWRITE_MASQUERADE ? REWRITE_IDENTIFIER : 0);
}

static __always_inline int rewrite_port(struct __sk_buff *skb, __be16 port_be, __u32 destination, __u32 l4_offset,
					__u32 checksum_offset, __u32 checksum_flags)
{
	const __u32 offset = l4_offset + destination * sizeof(port_be); /* the source port is first */
	__be16 old_be;

	return bpf_skb_load_bytes(skb, offset, &old_be, sizeof(old_be)) ||
	       bpf_l4_csum_replace(skb, checksum_offset, old_be, port_be, checksum_flags | sizeof(port_be)) ||
	       bpf_skb_store_bytes(skb, offset, &port_be, sizeof(port_be), 0);
}

/* Rewrites the identifier of an echo of a masqueraded flow. */
static __always_inline int rewrite_identifier(struct __sk_buff *skb, __be16 identifier_be, __u32 l4_offset)
{
	const __u32 offset = l4_offset + ICMP_IDENTIFIER_OFFSET;
	__be16 old_be;

	return bpf_skb_load_bytes(skb, offset, &old_be, sizeof(old_be)) ||
	       bpf_l4_csum_replace(skb, l4_offset + ICMP_CHECKSUM_OFFSET, old_be, identifier_be, sizeof(old_be)) ||
	       bpf_skb_store_bytes(skb, offset, &identifier_be, sizeof(identifier_be), 0);
}

/*
 * Rewrites an end of a packet; returns whether it failed. what: the protocol, IPPROTO_NONE where the packet has no L4
 * header, with rewrite_kind(), and with REWRITE_ADDRESS_ONLY where the header has no port of the flow. The checksum
 * difference of the address is applied as it is in the end; the kernel applies it to a checksum that is still to be
 * completed, too (RFC 1624).
 *
 * A device's checksum of the whole packet (CHECKSUM_COMPLETE) decreases by the difference with the L4 checksum: the
 * kernel assumes that the address and a header checksum cancel each other out. IPv6 has no header checksum.
 */
__global int rewrite_packet(struct __sk_buff *skb, const struct conntrack_end *end, __u32 family, __u32 what,
			    __u32 l4_offset)
{
	if (!end)
		return true;

	const __u32 protocol = what & ~(REWRITE_TO_DESTINATION | REWRITE_IDENTIFIER);
	const __u32 destination = what / REWRITE_TO_DESTINATION & 1;
	const __u32 checksum_offset = rewrite_checksum_offset(protocol & ~REWRITE_ADDRESS_ONLY, l4_offset);
	const __u32 checksum_flags = protocol == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0;
	const __u64 difference = end->checksum;

	if (checksum_offset &&
	    bpf_l4_csum_replace(skb, checksum_offset, 0, difference, checksum_flags | BPF_F_PSEUDO_HDR))
		return true;
	if (end->port_be && (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) &&
	    rewrite_port(skb, end->port_be, destination, l4_offset, checksum_offset, checksum_flags))
		return true;
	if (end->port_be && what & REWRITE_IDENTIFIER && (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6) &&
	    rewrite_identifier(skb, end->port_be, l4_offset))
		return true;
	if (family == FAMILY_IPV4)
		return bpf_l3_csum_replace(skb, ETH_HLEN + offsetof(struct iphdr, check), 0, difference, 0) ||
		       bpf_skb_store_bytes(skb, ETH_HLEN + offsetof(struct iphdr, saddr) + destination * sizeof(__be32),
					   end->address, sizeof(__be32), 0);
	bpf_csum_update(skb, difference);
	return bpf_skb_store_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, saddr) + destination * sizeof(end->address),
				   end->address, sizeof(end->address), 0);
}

#endif
