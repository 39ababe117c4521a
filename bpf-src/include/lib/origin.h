/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Where the packets of a peer come from. A source address proves nothing: any host of the network can write it. The
 * identity of a local endpoint is given to packets that its own interface received, and that of this node to packets
 * that its sockets sent, which no interface received (ingress_ifindex 0). Other packets with such a source are from the
 * world: forged ones, and those that the stack translated to an address of this node (masquerading).
 */
#ifndef AGENT_LIB_ORIGIN_H
#define AGENT_LIB_ORIGIN_H

#include "lib/conntrack.h"

/*
 * The origin of a peer: in the low half the interface that received its packet, in the high half whether an address of
 * this node means this node.
 */
#define ORIGIN_ANY_INTERFACE 0xffffffffULL /* the peer's packet is not at hand: its address is believed */
#define ORIGIN_MAY_BE_HOST (1ULL << 32)

/*
 * Returns the interface that received the packet, 0 for none. The verifier refuses a pointer to a field of the context,
 * which the compiler computes where several branches load the field.
 */
static __always_inline __u32 receiving_ifindex(const struct __sk_buff *skb)
{
	__u32 ifindex;

	asm volatile("%0 = *(u32 *)(%1 + %2)"
		     : "=r"(ifindex)
		     : "r"(skb), "i"(offsetof(struct __sk_buff, ingress_ifindex)));
	return ifindex;
}

/* The origin of a packet that opens a flow, or has none. received_by 0: no interface received it. */
static __always_inline __u64 origin_of_source(__u32 received_by)
{
	return received_by ? received_by : ORIGIN_MAY_BE_HOST;
}

/*
 * The origin of the peer of an existing flow. Where the endpoint opened the flow to an address of this node, the peer
 * has the identity of the address, also if the stack translates the flow and the answers come in by an interface.
 */
static __always_inline __u64 origin_of_peer(const struct conntrack_entry *entry, enum conntrack_side peer,
					    __u32 received_by)
{
	const __u32 flags = READ_ONCE(entry->flags);
	const bool may_be_host = !conntrack_is_initiator(flags, peer) || flags & CONNTRACK_PEER_IS_NODE;

	return (received_by ? received_by : ORIGIN_ANY_INTERFACE) | (may_be_host ? ORIGIN_MAY_BE_HOST : 0);
}

/*
 * Returns whether a packet with an entry comes from the peer of that flow, which may have another interface than when
 * the flow was opened. What this node sends itself, such as resets of netfilter, is believed.
 */
static __always_inline bool origin_is_peer(const struct conntrack_entry *entry, enum conntrack_side peer,
					   __u32 received_by)
{
	const __u32 endpoint_id = conntrack_endpoint(entry, peer);
	const struct endpoint_entry *endpoint;

	if (!received_by)
		return true;
	if (likely(!endpoint_id))
		return !(READ_ONCE(entry->flags) & CONNTRACK_PEER_IS_NODE);
	endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	return endpoint && endpoint->ifindex == received_by;
}

/*
 * Remembers that a socket of this node answers: from now on other packets with its address do not belong to the flow.
 * The answers of a flow that the stack translates come in by an interface, and the flow is not marked.
 */
static __always_inline void origin_remember(struct conntrack_entry *entry, enum conntrack_side source,
					    __u32 received_by)
{
	const __u32 flags = READ_ONCE(entry->flags);

	if (!received_by && flags & CONNTRACK_TO_NODE && !(flags & CONNTRACK_PEER_IS_NODE) &&
	    !conntrack_is_initiator(flags, source))
		conntrack_set_flags(entry, CONNTRACK_PEER_IS_NODE);
}

#endif
