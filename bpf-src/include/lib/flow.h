/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The source and destination of a packet with their identities, the policy verdict on them, and the conntrack entry
 * that stores it.
 */
#ifndef AGENT_LIB_FLOW_H
#define AGENT_LIB_FLOW_H

#include "lib/icmp.h"
#include "lib/ipcache.h"
#include "lib/origin.h"
#include "lib/policy.h"

/* Arrays are indexed by enum packet_side. */
struct flow {
	__u64 generation; /* the sum of both sides' generations */
	__u32 identity[2];
	__u16 endpoint_id[2]; /* 0: not an endpoint of this node */
	__u16 shard[2];       /* of an address that is no endpoint's */
	__u32 entry_flags;    /* enum conntrack_flag */
	__u8 denied_side;     /* the side whose policy gave the drop reason, or the audited one */
	__u8 audited;         /* the drop reason that audit mode did not enforce */
	__u8 by_default;      /* bit by side: its policy allows the flow only because it allows everything */
	__u8 forged : 1;      /* the source is the address of an endpoint, and the packet is not from there */
	__u8 redirect : 7;    /* enum redirect_kind: the proxy that a policy sends the flow to */
};

/* Returns the shard of an address in the generations of the outside (maps/endpoint_map.h). */
static __always_inline __u16 address_shard(const union address *address)
{
	__u64 folded = address->halves[0] ^ address->halves[1];

	folded ^= folded >> 32;
	folded ^= folded >> 16;
	return bpf_ntohs((__u16)folded);
}

static __always_inline void flow_set_world(struct flow *flow, enum packet_side side, __u8 family)
{
	flow->identity[side] = family == FAMILY_IPV4 ? node_config.world_identity4 : node_config.world_identity6;
}

/*
 * Looks up the identity and the endpoint of an address in the ipcache. An address of this node with another origin is
 * from the world; its flow passes the stack, which translates it.
 */
static __always_inline void flow_find_peer(struct flow *flow, enum packet_side side, const union address *address,
					   __u8 family, __u64 origin)
{
	const struct ipcache_entry *entry = ipcache_find(address, family);

	if (!entry) {
		flow_set_world(flow, side, family);
		return;
	}
	flow->identity[side] = entry->identity;
	flow->endpoint_id[side] = entry->endpoint_id;
	if (!(entry->flags & IPCACHE_FLAG_HOST))
		return;
	flow->entry_flags = CONNTRACK_BY_STACK | CONNTRACK_TO_NODE;
	if (!(origin & ORIGIN_MAY_BE_HOST))
		flow_set_world(flow, side, family);
}

/* Reads the identity of an endpoint, after its generation. */
static __always_inline int flow_find_endpoint(struct flow *flow, enum packet_side side)
{
	const __u32 endpoint_id = flow->endpoint_id[side];
	const struct endpoint_entry *endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);

	if (!endpoint || !endpoint->ifindex)
		return DROP_NO_ENDPOINT;
	flow->identity[side] = endpoint->identity;
	return DROP_NONE;
}

/* Clears the endpoint of a side whose packet its interface did not receive; the side is of the world then. */
static __always_inline void flow_verify_endpoint(struct flow *flow, enum packet_side side, __u8 family, __u32 ifindex)
{
	const __u32 endpoint_id = flow->endpoint_id[side];
	const struct endpoint_entry *endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);

	if (endpoint && endpoint->ifindex == ifindex)
		return;
	flow->endpoint_id[side] = 0;
	flow->forged = true;
	flow_set_world(flow, side, family);
}

/*
 * Finds the identities of both sides. own is the side of the endpoint of the running program, independent of the ipcache;
 * origin is that of the other side (lib/origin.h).
 *
 * A generation is read before what it covers, so that a concurrent change makes the verdict stale: that of the peer's
 * shard before the ipcache, those of endpoints before their identities and policies.
 */
static __always_inline int flow_find_sides(struct flow *flow, const struct packet *packet, enum packet_side own,
					   __u32 own_id, __u64 origin)
{
	const enum packet_side peer = 1 - own;
	const union address *address = own == PACKET_SOURCE ? &packet->destination : &packet->source;
	__u64 peer_generation;

	__builtin_memset(flow, 0, sizeof(*flow));
	flow->shard[peer] = address_shard(address);
	peer_generation = generation_of(GENERATION_OUTSIDE + flow->shard[peer]);
	flow->endpoint_id[own] = own_id;
	flow_find_peer(flow, peer, address, packet->family, origin);
	if ((__u32)origin != (__u32)ORIGIN_ANY_INTERFACE && flow->endpoint_id[peer])
		flow_verify_endpoint(flow, peer, packet->family, (__u32)origin);
	if (flow->endpoint_id[peer])
		peer_generation = generation_of(flow->endpoint_id[peer]);
	flow->generation = generation_of(own_id) + peer_generation;
	if (flow_find_endpoint(flow, own) || (flow->endpoint_id[peer] && flow_find_endpoint(flow, peer)))
		return DROP_NO_ENDPOINT;
	return DROP_NONE;
}

__global int flow_find_parties(struct flow *flow, const struct packet *packet, __u32 own_side, __u32 own_id,
			       __u64 origin)
{
	return flow && packet ? flow_find_sides(flow, packet, own_side & 1, own_id, origin) : DROP_NO_ENDPOINT;
}

static __always_inline __u32 endpoint_options(__u32 endpoint_id)
{
	const struct endpoint_entry *endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);

	return endpoint ? endpoint->options : 0;
}

/* Returns the sides, as bits, whose endpoint has Conntrack enabled. */
static __always_inline __u32 flow_tracked_sides(const struct flow *flow)
{
	__u32 sides = 0;

	unrolled
	for (int i = 0; i < 2; i++)
		if (flow->endpoint_id[i] && endpoint_options(flow->endpoint_id[i]) & OPTION_CONNTRACK)
			sides |= 1U << i;
	return sides;
}

static __always_inline int flow_ask_one(struct flow *flow, enum packet_side side, enum policy_direction direction,
					__u8 protocol, __be16 port_be)
{
	const struct policy_question question = {
		.endpoint_id = flow->endpoint_id[side],
		.peer_identity = flow->identity[1 - side],
		.direction = direction,
		.protocol = protocol,
		.port_be = port_be,
	};
	const int answer = policy_ask(&question);
	const int reason = answer & (POLICY_BY_DEFAULT - 1);

	flow->by_default |= (answer == POLICY_BY_DEFAULT) << side;
	if (unlikely(answer >> POLICY_REDIRECT_SHIFT))
		flow->redirect |= answer >> POLICY_REDIRECT_SHIFT;
	if (likely(reason == DROP_NONE))
		return DROP_NONE;
	flow->denied_side = side;
	if (reason == DROP_NO_ENDPOINT || !(endpoint_options(question.endpoint_id) & OPTION_POLICY_AUDIT_MODE))
		return reason;
	flow->audited = reason;
	return DROP_NONE;
}

/* Returns the port for the policy lookup of a flow with this initiator side; for ICMP the message type. */
static __always_inline __be16 packet_policy_port(const struct packet *packet, enum packet_side initiator)
{
	if (packet_is_icmp(packet))
		return bpf_htons(packet->kind == PACKET_FLOW ? icmp_request_type(packet->family) : packet->icmp_type);
	return initiator == PACKET_SOURCE ? packet->destination_port_be : packet->source_port_be;
}

/*
 * Returns the drop reason of the policies of the endpoints on these sides, as bits, for a flow that the first side
 * opens.
 */
static __always_inline int flow_ask_sides(struct flow *flow, const struct packet *packet, enum packet_side first,
					  __u32 sides)
{
	const enum packet_side second = 1 - first;
	const __be16 port_be = packet_policy_port(packet, first);
	int reason = DROP_NONE;

	flow->by_default = 0;
	if (flow->endpoint_id[first] && sides & 1U << first)
		reason = flow_ask_one(flow, first, POLICY_EGRESS, packet->protocol, port_be);
	if (reason == DROP_NONE && flow->endpoint_id[second] && sides & 1U << second)
		reason = flow_ask_one(flow, second, POLICY_INGRESS, packet->protocol, port_be);
	return reason;
}

__global int flow_ask_policy(struct flow *flow, const struct packet *packet, __u32 initiator, __u32 sides)
{
	return flow && packet ? flow_ask_sides(flow, packet, initiator & 1, sides) : DROP_NO_ENDPOINT;
}

#define FLOW_BOTH_SIDES 3

/*
 * Returns whether the sides of the flow are not those of the entry: an endpoint was removed or got another address, or
 * an outside address became an endpoint's.
 */
static __always_inline bool flow_has_other_parties(const struct flow *flow, const struct conntrack_entry *entry,
						   enum conntrack_side source_side)
{
	const __u32 low = conntrack_endpoint(entry, CONNTRACK_LOW);
	const __u32 high = conntrack_endpoint(entry, CONNTRACK_HIGH);

	return (flow->generation ^ entry->generation) >> GENERATION_OWNER_SHIFT ||
	       flow->endpoint_id[PACKET_SOURCE] != (source_side == CONNTRACK_LOW ? low : high) ||
	       flow->endpoint_id[PACKET_DESTINATION] != (source_side == CONNTRACK_LOW ? high : low);
}

static __always_inline void flow_fill_side(struct conntrack_entry *entry, enum conntrack_side side,
					   const struct flow *flow, enum packet_side from, __u32 tracked_sides)
{
	const bool low = side == CONNTRACK_LOW;
	const __u16 endpoint_id = flow->endpoint_id[from];

	entry->identity[side] = flow->identity[from];
	if (!endpoint_id) {
		entry->party[side] = flow->shard[from];
		entry->flags |= low ? CONNTRACK_OUTSIDE_LOW : CONNTRACK_OUTSIDE_HIGH;
		return;
	}
	entry->party[side] = endpoint_id;
	if (!(tracked_sides & 1U << from))
		entry->flags |= low ? CONNTRACK_UNTRACKED_LOW : CONNTRACK_UNTRACKED_HIGH;
}

/* Fills a new conntrack entry from the sides of a packet; the stack delivers to both. */
static __always_inline void flow_fill_entry(struct conntrack_entry *entry, const struct flow *flow,
					    enum conntrack_side source_side)
{
	const __u32 tracked_sides = flow_tracked_sides(flow);

	__builtin_memset(entry, 0, sizeof(*entry));
	entry->generation = flow->generation;
	entry->flags = flow->entry_flags;
	if (source_side == CONNTRACK_LOW) {
		flow_fill_side(entry, CONNTRACK_LOW, flow, PACKET_SOURCE, tracked_sides);
		flow_fill_side(entry, CONNTRACK_HIGH, flow, PACKET_DESTINATION, tracked_sides);
	} else {
		flow_fill_side(entry, CONNTRACK_LOW, flow, PACKET_DESTINATION, tracked_sides);
		flow_fill_side(entry, CONNTRACK_HIGH, flow, PACKET_SOURCE, tracked_sides);
	}
}

/* Fills in what an entry says of the sides of its packet. */
static __always_inline void flow_of_entry(struct flow *flow, const struct conntrack_entry *entry,
					  enum conntrack_side source_side)
{
	const bool low = source_side == CONNTRACK_LOW;
	const __u32 low_id = conntrack_endpoint(entry, CONNTRACK_LOW);
	const __u32 high_id = conntrack_endpoint(entry, CONNTRACK_HIGH);

	__builtin_memset(flow, 0, sizeof(*flow));
	flow->identity[PACKET_SOURCE] = low ? entry->identity[0] : entry->identity[1];
	flow->identity[PACKET_DESTINATION] = low ? entry->identity[1] : entry->identity[0];
	flow->endpoint_id[PACKET_SOURCE] = low ? low_id : high_id;
	flow->endpoint_id[PACKET_DESTINATION] = low ? high_id : low_id;
}

#endif
