/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The source and destination of a packet with their identities, the policy verdict on them, and the conntrack entry
 * that stores it.
 */
#ifndef AGENT_LIB_FLOW_H
#define AGENT_LIB_FLOW_H

#include "lib/conntrack.h"
#include "lib/icmp.h"
#include "lib/policy.h"
#include "maps/ipcache_map.h"

/* Arrays are indexed by enum packet_side. */
struct flow {
	__u32 identity[2];
	__u32 generation[2];
	__u16 endpoint_id[2]; /* 0: not an endpoint of this node */
	__u8 audited;         /* the drop reason that audit mode did not enforce */
	__u8 reserved;
	__u16 entry_flags; /* enum conntrack_flag for the host program */
};

static __always_inline __u32 generation_of(__u32 endpoint_id)
{
	const __u32 *current = bpf_map_lookup_elem(&generations, &endpoint_id);

	return current ? READ_ONCE(*current) : 0;
}

/*
 * Keys are stored in the word size with which the kernel loads them, since a load that spans two stores cannot be
 * forwarded from the store buffer. Padding before the prefix length aligns the address.
 */
struct ipcache6_lookup {
	__u32 padding;
	__u32 prefix_length;
	__u64 address[2];
};

static __always_inline const struct ipcache_entry *ipcache_find(const union address *address, __u8 family)
{
	if (family == FAMILY_IPV4) {
		struct ipcache4_key key = { .prefix_length = 32 };

		*(__be32 *)key.address = address->v4;
		return bpf_map_lookup_elem(&ipcache4, &key);
	}

	const struct ipcache6_lookup lookup = {
		.prefix_length = 128,
		.address = { address->halves[0], address->halves[1] },
	};

	return bpf_map_lookup_elem(&ipcache6, &lookup.prefix_length);
}

/* Looks up the identity and the endpoint of an address in the ipcache. */
static __always_inline void flow_find_peer(struct flow *flow, enum packet_side side, const union address *address,
					   __u8 family)
{
	const struct ipcache_entry *entry = ipcache_find(address, family);

	if (entry) {
		flow->identity[side] = entry->identity;
		flow->endpoint_id[side] = entry->endpoint_id;
		flow->entry_flags = entry->flags & IPCACHE_FLAG_HOST ? CONNTRACK_BY_STACK : 0;
	} else {
		flow->identity[side] = family == FAMILY_IPV4 ? node_config.world_identity4
							     : node_config.world_identity6;
	}
}

/*
 * Reads the generation and the identity of an endpoint. The generation is read before the identity and the policy, so
 * that a concurrent change makes the verdict stale.
 */
static __always_inline int flow_find_endpoint(struct flow *flow, enum packet_side side)
{
	const __u32 endpoint_id = flow->endpoint_id[side];
	const struct endpoint_entry *endpoint;

	flow->generation[side] = generation_of(endpoint_id);
	endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	if (!endpoint || !endpoint->ifindex)
		return DROP_NO_ENDPOINT;
	flow->identity[side] = endpoint->identity;
	return DROP_NONE;
}

/* Finds the identities of both sides. own_side is the endpoint of the running program, independent of the ipcache. */
__global int flow_find_parties(struct flow *flow, const struct packet *packet, __u32 own_side, __u32 own_id)
{
	if (!flow || !packet)
		return DROP_NO_ENDPOINT;
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->generation[PACKET_SOURCE] = generation_of(0);
	flow->generation[PACKET_DESTINATION] = flow->generation[PACKET_SOURCE];
	flow->endpoint_id[own_side & 1] = own_id;
	flow_find_peer(flow, 1 - (own_side & 1), own_side == PACKET_SOURCE ? &packet->destination : &packet->source,
		       packet->family);
	if (flow->endpoint_id[PACKET_SOURCE] && flow_find_endpoint(flow, PACKET_SOURCE))
		return DROP_NO_ENDPOINT;
	if (flow->endpoint_id[PACKET_DESTINATION] && flow_find_endpoint(flow, PACKET_DESTINATION))
		return DROP_NO_ENDPOINT;
	return DROP_NONE;
}

static __always_inline bool endpoint_audits(__u32 endpoint_id)
{
	const struct endpoint_entry *endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);

	return endpoint && endpoint->flags & ENDPOINT_FLAG_POLICY_AUDIT;
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
	const int reason = policy_ask(&question);

	if (likely(reason == DROP_NONE) || reason == DROP_NO_ENDPOINT || !endpoint_audits(question.endpoint_id))
		return reason;
	flow->audited = reason;
	return DROP_NONE;
}

/*
 * Returns the drop reason of the policy of both endpoints for a flow with this initiator side; port_be is the port of
 * the responder.
 */
__global int flow_ask_policy(struct flow *flow, __u32 initiator, __u8 protocol, __be16 port_be)
{
	const enum packet_side first = initiator & 1;
	const enum packet_side second = 1 - first;
	int reason = DROP_NONE;

	if (!flow)
		return DROP_NO_ENDPOINT;

	if (flow->endpoint_id[first])
		reason = flow_ask_one(flow, first, POLICY_EGRESS, protocol, port_be);
	if (reason == DROP_NONE && flow->endpoint_id[second])
		reason = flow_ask_one(flow, second, POLICY_INGRESS, protocol, port_be);
	return reason;
}

/* Returns the port for the policy lookup of a flow with this initiator side; for ICMP the message type. */
static __always_inline __be16 packet_policy_port(const struct packet *packet, enum packet_side initiator)
{
	if (packet_is_icmp(packet))
		return bpf_htons(packet->kind == PACKET_FLOW ? icmp_request_type(packet->family) : packet->icmp_type);
	return initiator == PACKET_SOURCE ? packet->destination_port_be : packet->source_port_be;
}

static __always_inline void flow_set_delivery(struct conntrack_entry *entry, enum conntrack_side side,
					      __u32 endpoint_id)
{
	const struct endpoint_entry *endpoint;

	if (!endpoint_id)
		return;
	endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	if (!endpoint)
		return;
	entry->delivery[side].ifindex = endpoint->ifindex;
	__builtin_memcpy(entry->delivery[side].destination_mac, endpoint->mac, ETH_ALEN);
	__builtin_memcpy(entry->delivery[side].source_mac, endpoint->host_mac, ETH_ALEN);
}

/* Returns whether an endpoint of the entry was removed or changed its address, which endpoint own_id may have now. */
__global int flow_lost_endpoint(const struct conntrack_entry *entry, __u32 own_side, __u32 own_id)
{
	if (!entry)
		return false;
	unrolled
	for (int i = 0; i < 2; i++) {
		const __u32 endpoint_id = entry->endpoint_id[i];

		if (endpoint_id && ((generation_of(endpoint_id) ^ entry->generation[i]) >> GENERATION_OWNER_SHIFT ||
				    ((__u32)i == own_side && endpoint_id != own_id)))
			return true;
	}
	return false;
}

/* Fills a new conntrack entry from the sides of a packet. */
static __always_inline void flow_fill_entry(struct conntrack_entry *entry, const struct flow *flow,
					    enum conntrack_side source_side)
{
	__builtin_memset(entry, 0, sizeof(*entry));
	if (source_side == CONNTRACK_LOW) {
		unrolled
		for (int i = 0; i < 2; i++) {
			entry->generation[i] = flow->generation[i];
			entry->endpoint_id[i] = flow->endpoint_id[i];
			entry->identity[i] = flow->identity[i];
		}
	} else {
		unrolled
		for (int i = 0; i < 2; i++) {
			entry->generation[i] = flow->generation[1 - i];
			entry->endpoint_id[i] = flow->endpoint_id[1 - i];
			entry->identity[i] = flow->identity[1 - i];
		}
	}
	flow_set_delivery(entry, CONNTRACK_LOW, entry->endpoint_id[CONNTRACK_LOW]);
	flow_set_delivery(entry, CONNTRACK_HIGH, entry->endpoint_id[CONNTRACK_HIGH]);
}

#endif
