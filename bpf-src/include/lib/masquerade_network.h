/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The packets of masqueraded flows (lib/masquerade.h) at a device of the network: answers get the address of their
 * workload before the stack sees them, and packets that the stack forwards that of this node after it.
 */
#ifndef AGENT_LIB_MASQUERADE_NETWORK_H
#define AGENT_LIB_MASQUERADE_NETWORK_H

#include "lib/early_fragment.h"
#include "lib/error_translation.h"
#include "lib/fragment_identity.h"
#include "lib/masquerade.h"
#include "lib/origin.h"

/*
 * Returns whether the flow of an entry ended, or was of another owner of its addresses. generation: that of its parties
 * now.
 */
static __always_inline bool masquerade_is_over(const struct conntrack_entry *entry, __u64 generation, __u64 now)
{
	return conntrack_is_expired(entry, now) ||
	       (generation ^ READ_ONCE(entry->generation)) >> GENERATION_OWNER_SHIFT;
}

/* Returns whether the tuple outside of a packet's flow cannot be another: its header has no port that can be changed. */
static __always_inline bool tuple_is_fixed(const struct packet *packet)
{
	return packet->protocol != IPPROTO_TCP && packet->protocol != IPPROTO_UDP && !packet_is_icmp(packet);
}

static __always_inline bool address_is_of_node(const union address *address, __u8 family)
{
	const struct ipcache_entry *entry = ipcache_find(address, family);

	return entry && entry->flags & IPCACHE_FLAG_HOST;
}

/* Returns whether an entry says that its tuple is this node's own. */
static __always_inline bool entry_is_of_node(const struct conntrack_entry *entry)
{
	const __u32 needed = CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH | CONNTRACK_PEER_IS_NODE;

	return (entry->flags & (needed | CONNTRACK_REWRITTEN)) == needed;
}

/*
 * Keeps the tuple of a packet for this node, so that no flow of a workload gets it, as long as a flow lives after its
 * last packet. taken: the flags of the entry that is there, or 0.
 */
__global int tuple_keep(const struct packet *packet, __u32 taken)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;

	if (!packet || !memory)
		return 0;
	entry = &memory->entry;
	__builtin_memset(entry, 0, sizeof(*entry));
	entry->flags = CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH | CONNTRACK_PEER_IS_NODE;
	entry->expires_ns = now_ns() + node_config.any_lifetime_ns;
	if (taken ? taken & CONNTRACK_OVERFLOW : flow_usage_open(0, flow_table(packet)))
		entry->flags |= CONNTRACK_OVERFLOW;
	return conntrack_put(packet, entry, BPF_ANY);
}

/*
 * Notes that this node uses the tuple of a packet that it sends, or with received, gets. What it sends takes the tuple
 * from the masqueraded flow that has it, which ends: the peer cannot tell the two apart. What it gets belongs to such a
 * flow, where there is one.
 */
__global int tuple_use(const struct packet *packet, __u32 received)
{
	struct conntrack_entry *entry;
	struct packet shown;

	if (!packet)
		return 0;
	entry = conntrack_find(packet);
	if (!entry)
		return address_is_of_node(received ? &packet->destination : &packet->source, packet->family)
			       ? tuple_keep(packet, 0)
			       : 0;
	if (entry_is_of_node(entry)) {
		const __u64 expires_ns = now_ns() + node_config.any_lifetime_ns;

		if (expires_ns - READ_ONCE(entry->expires_ns) > NS_PER_SECOND)
			WRITE_ONCE(entry->expires_ns, expires_ns);
		return 0;
	}
	if (received || !entry_is_masquerade(entry) || rewrite_applies(entry, packet_conntrack_side(packet) & 1))
		return 0;
	shown = *packet;
	masquerade_end(&shown, entry);
	return tuple_keep(packet, entry->flags);
}

/* Returns whether this node sends a packet whose tuple no flow of a workload may have, or has asked for an echo by it. */
static __always_inline bool tuple_is_used(const struct __sk_buff *skb, const struct packet *packet)
{
	return tuple_is_fixed(packet) || (packet_is_icmp(packet) && !receiving_ifindex(skb) &&
					  packet->icmp_type == icmp_request_type(packet->family));
}

/*
 * Notes that this node gets a packet of a tunnel, which may only receive; SCTP may be to a service. Any host may send such
 * packets: nothing is noted where no flow could get the tuple, since the device masquerades nothing.
 */
static __always_inline void tuple_receive(const struct __sk_buff *skb, const struct packet *packet)
{
	if (tuple_is_fixed(packet) && packet->protocol != IPPROTO_SCTP &&
	    device_has_address(packet->family, skb->ifindex))
		tuple_use(packet, true);
}

/*
 * Returns whether a TCP segment is an answer in a masqueraded connection whose entry for answers was evicted. The next
 * packet of the workload that changes something opens both again; the stack, which has no such connection, would reset
 * it before.
 */
__global int masquerade_lost_answer(struct __sk_buff *skb, const struct packet *packet)
{
	if (!packet || packet->kind != PACKET_FLOW || packet->protocol != IPPROTO_TCP ||
	    tcp_is_opening(packet->tcp_flags) || !address_is_of_node(&packet->destination, packet->family))
		return false;
	return packet_is_noted(packet, now_ns()) &&
	       !node_has_socket(skb, packet, &packet->source, &packet->destination, packet->source_port_be,
				packet->destination_port_be);
}

#define MASQUERADE_NONE -1 /* in the place of a drop reason: the packet is of no masqueraded flow */

/* Restores the workload's address in a reply that the quick parser does not read; returns a drop reason. */
__global int masquerade_answer(struct __sk_buff *skb, const struct packet *packet)
{
	const __u64 now = now_ns();
	struct conntrack_entry *entry;
	enum conntrack_side side;
	struct segment segment;

	if (!packet)
		return MASQUERADE_NONE;
	side = packet_conntrack_side(packet) & 1;
	entry = conntrack_find(packet);
	if (!entry || !entry_is_masquerade(entry) || !rewrite_applies(entry, side) ||
	    masquerade_is_over(entry, conntrack_generation(entry), now) ||
	    conntrack_is_reopened(READ_ONCE(entry->flags), side, packet->protocol, packet->tcp_flags))
		return MASQUERADE_NONE;
	segment = packet_segment(packet);
	if (packet->first_fragment)
		network_remember(skb, packet, conntrack_endpoint(entry, 1 - side));
	if (!conntrack_rests(entry, side, &segment, now)) {
		conntrack_advance(entry, side, &segment, now);
		if (!packet->later_fragment)
			translation_tell(skb, entry, &segment, now, packet->l4_offset);
	}
	return packet_rewrite(skb, packet, entry) ? DROP_MALFORMED : DROP_NONE;
}

/*
 * Returns whether a socket of this node sends with the tuple that the outside sees of a masqueraded flow, or a backend
 * of a relayed one. Its answers would go to the workload, or to the client.
 */
static __always_inline bool masquerade_is_met(const struct __sk_buff *skb, const struct conntrack_entry *entry)
{
	return unlikely(entry_is_masquerade(entry) || (entry_is_relayed(entry) && !rewrite_destination(entry))) &&
	       !receiving_ifindex(skb);
}

/*
 * Masquerades a packet that leaves by a device; returns a drop reason. What an endpoint program has
 * sent has the tuple of the second leg already, which rewrites nothing that leaves.
 */
__global int masquerade_leaving(struct __sk_buff *skb, const struct packet *packet)
{
	const struct conntrack_entry *entry;

	if (!packet)
		return MASQUERADE_NONE;
	if (tuple_is_used(skb, packet))
		tuple_use(packet, false);
	entry = conntrack_find(packet);
	if (!entry)
		return MASQUERADE_NONE;
	if (masquerade_is_met(skb, entry))
		return masquerade_is_over(entry, conntrack_generation(entry), now_ns()) ? MASQUERADE_NONE
											: DROP_TUPLE_IN_USE;
	if (!entry_is_masqueraded(entry) || !rewrite_applies(entry, packet_conntrack_side(packet) & 1))
		return MASQUERADE_NONE;
	if (packet->first_fragment && !fragment_is_known(packet))
		fragment_remember(packet, conntrack_endpoint(entry, packet_conntrack_side(packet) & 1));
	if (packet_rewrite(skb, packet, entry) ||
	    fragment_renumber(skb, packet, (const union address *)entry->end.address, &packet->destination))
		return DROP_MALFORMED;
	return DROP_NONE;
}

/* Returns whether a packet has an address of this node as its source. */
static __always_inline bool packet_is_of_node(const struct packet *packet)
{
	const struct ipcache_entry *source = ipcache_find(&packet->source, packet->family);

	return source && source->flags & IPCACHE_FLAG_HOST;
}

/*
 * Handles a fragment of this node's own datagrams, or one whose first fragment is not known; returns a drop reason. Of a
 * workload that one would leave with its own address.
 */
__global int masquerade_fragment(struct __sk_buff *skb, const struct packet *packet)
{
	const struct ipcache_entry *source;

	if (!packet)
		return DROP_NONE;
	if (packet_is_of_node(packet))
		return fragment_renumber(skb, packet, &packet->source, &packet->destination) ? DROP_MALFORMED
											     : DROP_NONE;
	source = ipcache_find(&packet->source, packet->family);
	if (!source || !source->endpoint_id || !device_has_address(packet->family, skb->ifindex))
		return DROP_NONE;
	return (packet->family == FAMILY_IPV4 ? masquerade4_is_due(packet->destination.v4)
					      : masquerade6_is_due(&packet->destination))
		       ? DROP_FRAGMENT_NOT_FOUND
		       : DROP_NONE;
}

#endif
