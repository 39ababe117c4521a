/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The packets of a flow with two legs (lib/leg.h): how they are rewritten in place, and how the entry of one leg tells the
 * other what changes. Each direction finds its entry with one lookup.
 */
#ifndef AGENT_LIB_TRANSLATION_H
#define AGENT_LIB_TRANSLATION_H

#include "lib/checksum.h"
#include "lib/datagram_number.h"
#include "lib/icmp.h"
#include "lib/quick_parse.h"
#include "lib/rewrite.h"

/* Returns the checksum difference of two addresses as rewrite_packet() applies it: one's complement, folded. */
static __always_inline __u16 address_difference(const union address *from, const union address *to)
{
	return words_fold((__u32)bpf_csum_diff((__be32 *)from, sizeof(*from), (__be32 *)to, sizeof(*to), 0));
}

/* Sets an end that packets get in the place of an address, with its port. */
static __always_inline void conntrack_set_end(struct conntrack_end *end, const union address *from,
					      const union address *to, __be16 port_be)
{
	end->port_be = port_be;
	end->checksum = address_difference(from, to);
	__builtin_memcpy(end->address, to, sizeof(end->address));
}

/* Makes an entry rewrite the packets of one side. what: CONNTRACK_REWRITE_DESTINATION, or 0 for the source. */
static __always_inline void entry_set_rewrite(struct conntrack_entry *entry, enum conntrack_side side, __u8 what,
					      const union address *from, const union address *to, __be16 port_be)
{
	entry->flags |= CONNTRACK_REWRITTEN;
	entry->rewrite = what | (side == CONNTRACK_HIGH ? CONNTRACK_REWRITE_FROM_HIGH : 0);
	conntrack_set_end(&entry->end, from, to, port_be);
}

#define RELAY_TO_WORKLOAD 0x10000 /* in the place of a device, with an endpoint id: to that workload */
#define RELAY_TRANSLATES 0x20000  /* with that: as IPv6 packets (lib/nat46.h) */

/*
 * Sets the device by which packets of a traffic class to a side of the flow leave, or their workload, without an index
 * that is variable.
 */
static __always_inline void entry_set_device(struct conntrack_entry *entry, bool to_low, __u32 device,
					     __u8 traffic_class)
{
	const __u8 kind = device & RELAY_TO_WORKLOAD ? CONNTRACK_TO_PEER : CONNTRACK_TO_NEIGHBOUR | traffic_class;

	if (to_low) {
		entry->delivery_kind[CONNTRACK_LOW] = kind;
		entry->delivery_index[CONNTRACK_LOW] = device;
	} else {
		entry->delivery_kind[CONNTRACK_HIGH] = kind;
		entry->delivery_index[CONNTRACK_HIGH] = device;
	}
}

static __always_inline void swap_numbers(__u16 *pair)
{
	const __u16 kept = pair[0];

	pair[0] = pair[1];
	pair[1] = kept;
}

/* Makes the low side of an entry the high one. The flags of the two sides are neighbours. */
static __always_inline void entry_swap_sides(struct conntrack_entry *entry)
{
	const __u32 low = CONNTRACK_SEEN_FIN_LOW | CONNTRACK_OUTSIDE_LOW | CONNTRACK_UNTRACKED_LOW |
			  CONNTRACK_NAT46_LOW;
	const __u32 flags = entry->flags;
	const __u8 kind[2] = { entry->delivery_kind[CONNTRACK_LOW], entry->delivery_kind[CONNTRACK_HIGH] };
	const __u32 identity[2] = { entry->identity[CONNTRACK_LOW], entry->identity[CONNTRACK_HIGH] };

	entry->flags = ((flags & ~(low | low << 1)) ^ CONNTRACK_INITIATOR_HIGH) | (flags & low) << 1 |
		       (flags >> 1 & low);
	swap_numbers(entry->party);
	swap_numbers(entry->delivery_index);
	swap_numbers(entry->acknowledged);
	entry->delivery_kind[CONNTRACK_LOW] = kind[CONNTRACK_HIGH];
	entry->delivery_kind[CONNTRACK_HIGH] = kind[CONNTRACK_LOW];
	entry->identity[CONNTRACK_LOW] = identity[CONNTRACK_HIGH];
	entry->identity[CONNTRACK_HIGH] = identity[CONNTRACK_LOW];
}

/* Returns whether a packet has all its addresses after this rewriting, and another source than before. */
static __always_inline bool rewrite_ends(const struct conntrack_entry *entry, enum rewrite_with with)
{
	if (entry->rewrite & CONNTRACK_REWRITE_BOTH)
		return with == REWRITE_WITH_OTHER;
	return !rewrite_is_destination(entry, with);
}

/* Rewrites an address in place with the checksum of an IPv4 header (RFC 1624, equation 3). */
static __always_inline void header_rewrite(const struct __sk_buff *skb, void *ip, const struct conntrack_entry *entry,
					   __u32 family, const enum rewrite_with with)
{
	const bool destination = rewrite_is_destination(entry, with);
	const struct conntrack_end *end = rewrite_end(entry, with);

	if (family == FAMILY_IPV4) {
		struct iphdr *ip4 = ip;
		__u16 check = checksum_after_word(ip4->check, end->checksum);

		__builtin_memcpy(destination ? &ip4->daddr : &ip4->saddr, end->address, 4);
		if (header_may_be_split(ip4) && rewrite_ends(entry, with))
			check = checksum_after(check, header_renumber(ip4, datagrams_of(skb)));
		ip4->check = check;
	} else {
		struct ipv6hdr *ip6 = ip;

		__builtin_memcpy(destination ? &ip6->daddr : &ip6->saddr, end->address, 16);
	}
}

static __always_inline bool rewrite_in_place(struct __sk_buff *skb, const struct conntrack_entry *entry,
					     const __u8 family, __u32 protocol, const enum rewrite_with with)
{
	const __u32 l4_offset = quick_l4_offset(family);
	const __u32 checksum_offset = rewrite_checksum_offset(protocol, l4_offset);
	const __u32 checksum_flags = protocol == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0;
	const bool destination = rewrite_is_destination(entry, with);
	const struct conntrack_end *end = rewrite_end(entry, with);
	const __be16 port_be = end->port_be;
	void *data = (void *)(long)skb->data;
	__be16 *ports = data + l4_offset;
	__be16 old_be;

	if (data + l4_offset + 2 * sizeof(*ports) > (void *)(long)skb->data_end)
		return true;
	old_be = destination ? ports[1] : ports[0];
	if (port_be && destination)
		ports[1] = port_be;
	else if (port_be)
		ports[0] = port_be;
	header_rewrite(skb, data + ETH_HLEN, entry, family, with);
	if (bpf_l4_csum_replace(skb, checksum_offset, 0, end->checksum, checksum_flags | BPF_F_PSEUDO_HDR))
		return true;
	if (port_be && port_be != old_be &&
	    bpf_l4_csum_replace(skb, checksum_offset, old_be, port_be, checksum_flags | sizeof(port_be)))
		return true;
	if (family == FAMILY_IPV6)
		bpf_csum_update(skb, end->checksum);
	return false;
}

/*
 * As rewrite_packet(), for a packet that the quick parser has read, and with fewer calls. The kernel keeps the checksum
 * of the L4 header, since only it knows whether that is still to be completed.
 */
__global int rewrite_quickly(struct __sk_buff *skb, const struct conntrack_entry *entry, __u32 family, __u32 protocol)
{
	if (!entry)
		return true;
	return family == FAMILY_IPV4 ? rewrite_in_place(skb, entry, FAMILY_IPV4, protocol, REWRITE_WITH_END)
				     : rewrite_in_place(skb, entry, FAMILY_IPV6, protocol, REWRITE_WITH_END);
}

/* The same with the other end that the entry of a relayed or proxied flow has. */
__global int rewrite_other_quickly(struct __sk_buff *skb, const struct conntrack_entry *entry, __u32 family,
				   __u32 protocol)
{
	if (!entry)
		return true;
	return family == FAMILY_IPV4 ? rewrite_in_place(skb, entry, FAMILY_IPV4, protocol, REWRITE_WITH_OTHER)
				     : rewrite_in_place(skb, entry, FAMILY_IPV6, protocol, REWRITE_WITH_OTHER);
}

/* Loads the ports of a packet as struct packet has them: those of an echo are its identifier. */
static __always_inline bool tuple_load_ports(const struct __sk_buff *skb, struct tuple *tuple, __u8 protocol,
					     __u32 l4_offset)
{
	struct icmp_header icmp;

	if (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP)
		return !bpf_skb_load_bytes(skb, l4_offset, &tuple->source_port_be, 2 * sizeof(__be16));
	if (protocol != IPPROTO_ICMP && protocol != IPPROTO_ICMPV6)
		return true;
	if (bpf_skb_load_bytes(skb, l4_offset, &icmp, sizeof(icmp)))
		return false;
	if (icmp.type == ICMP4_ECHO_REQUEST || icmp.type == ICMP6_ECHO_REQUEST)
		tuple->source_port_be = icmp.identifier_be;
	else
		tuple->destination_port_be = icmp.identifier_be;
	return true;
}

static __always_inline bool tuple_load(const struct __sk_buff *skb, struct tuple *tuple, __u32 family, __u8 protocol,
				       __u32 l4_offset)
{
	__builtin_memset(tuple, 0, sizeof(*tuple));
	if (!tuple_load_ports(skb, tuple, protocol, l4_offset))
		return false;
	if (family == FAMILY_IPV4)
		return !bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct iphdr, saddr), &tuple->source, 4) &&
		       !bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct iphdr, daddr), &tuple->destination, 4);
	return !bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, saddr), &tuple->source,
				   2 * sizeof(union address));
}

/*
 * Returns whether the entry with the tuple of the other leg is of the same workload. That of a masqueraded flow may have
 * been evicted, and its tuple be another workload's since; the peer is the same.
 */
static __always_inline bool leg_is_of_workload(const struct conntrack_entry *entry, const struct conntrack_entry *other)
{
	return !(entry->rewrite & CONNTRACK_REWRITE_MASQUERADE) ||
	       (entry_is_masqueraded(other) &&
		(entry->party[0] ^ entry->party[1]) == (other->party[0] ^ other->party[1]));
}

#define TELL_BY_OTHER 0x10000 /* with the offset: the other end of the entry leads to the other leg */

/*
 * Changes the entry of the other leg as a packet changes that of its own; the packet may be rewritten already, but not
 * its source. Where the other one was evicted, that of the client ends; returns whether that is so, and the packet has
 * to open both again.
 */
__global int translation_tell(const struct __sk_buff *skb, struct conntrack_entry *entry, const struct segment *segment,
			      __u64 now, __u32 l4_offset)
{
	if (!entry || !segment)
		return 0;

	const __u32 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;
	const enum rewrite_with with = l4_offset & TELL_BY_OTHER ? REWRITE_WITH_OTHER : REWRITE_WITH_END;
	const bool client = with == REWRITE_WITH_END &&
			    !rewrite_destination(entry) == !!(entry->rewrite & CONNTRACK_REWRITE_MASQUERADE);
	struct conntrack_entry *other;
	struct tuple tuple;
	__u32 side;

	if (!tuple_load(skb, &tuple, family, segment->protocol, (__u16)l4_offset))
		return 0;
	tuple_set_end(&tuple, rewrite_end(entry, with), rewrite_is_destination(entry, with));
	other = tuple_find(&tuple, family, segment->protocol, &side);
	if (other && leg_is_of_workload(entry, other)) {
		conntrack_advance(other, side, segment, now);
		return false;
	}
	if (client)
		WRITE_ONCE(entry->expires_ns, 0);
	return client;
}

/* Copies the segment only where it is called, so that the caller's stays in registers. */
static __always_inline void translation_tell_by(const struct __sk_buff *skb, struct conntrack_entry *entry,
						const struct segment *segment, __u64 now, __u32 l4_offset)
{
	const struct segment copy = *segment;

	translation_tell(skb, entry, &copy, now, l4_offset);
}

#endif
