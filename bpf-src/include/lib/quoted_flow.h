/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds the flow of the packet that an ICMP error quotes, and whether the error may pass because of it. */
#ifndef AGENT_LIB_QUOTED_FLOW_H
#define AGENT_LIB_QUOTED_FLOW_H

#include "lib/endpoint_service.h"
#include "lib/error_translation.h"

enum quoted_flow {
	QUOTED_FLOW_UNKNOWN = 0,
	QUOTED_FLOW_ALLOWED = 1,
	QUOTED_FLOW_TO_ASK = 2,      /* plus the initiator as enum packet_side: policy is to be asked */
	QUOTED_FLOW_TO_ASK_BOTH = 4, /* the same: either side may have opened it, so that both must be allowed to */
};

/*
 * Finds the flow of the packet that an ICMP error quotes; returns an enum quoted_flow. Between two endpoints, and
 * between an endpoint and this node, there is no router that could send an error.
 */
__global int quoted_flow_find(struct __sk_buff *skb, const struct packet *packet, const struct endpoint_entry *endpoint,
			      __u32 hook)
{
	if (!packet || !endpoint)
		return QUOTED_FLOW_UNKNOWN;

	const bool verify = hook == METRICS_EGRESS && ENDPOINT_OPTION(SOURCE_IP_VERIFICATION);
	const __u64 now = now_ns();
	const struct conntrack_entry *entry;
	struct judge_scratch *memory = scratch();
	struct packet *quoted;
	struct flow *flow;

	if (!memory)
		return QUOTED_FLOW_UNKNOWN;
	quoted = &memory->quoted;
	flow = &memory->quoted_flow;
	if (!quoted_parse(skb, packet, quoted) || !address_equals(&quoted->source, &packet->destination) ||
	    (verify && !address_equals(&quoted->destination, &packet->source)))
		return QUOTED_FLOW_UNKNOWN;
	entry = conntrack_find(quoted);
	if (!entry || conntrack_is_expired(entry, now))
		return QUOTED_FLOW_UNKNOWN;

	const enum conntrack_side sender = packet_conntrack_side(quoted) & 1;

	memory->judgement.nat46 |= entry_translates(entry, sender) * NAT46_DESTINATION;
	if (hook == METRICS_INGRESS && !origin_is_peer(entry, 1 - sender, receiving_ifindex(skb)))
		return QUOTED_FLOW_UNKNOWN;
	if (conntrack_is_current(entry))
		return entry->flags & CONNTRACK_DENIED ? QUOTED_FLOW_UNKNOWN : QUOTED_FLOW_ALLOWED;

	const bool initiator = conntrack_is_initiator(entry->flags, sender);
	const enum packet_side side = initiator ? PACKET_SOURCE : PACKET_DESTINATION;

	const __u64 origin = origin_of_peer(entry, hook == METRICS_INGRESS ? 1 - sender : sender, 0);

	if (flow_find_parties(flow, quoted, 1 - own_side(hook), endpoint->endpoint_id, origin))
		return QUOTED_FLOW_UNKNOWN;
	if (flow_has_other_parties(flow, entry, sender))
		return QUOTED_FLOW_UNKNOWN;
	return (entry->flags & CONNTRACK_DIRECTION_UNKNOWN ? QUOTED_FLOW_TO_ASK_BOTH : QUOTED_FLOW_TO_ASK) + side;
}

/* Returns whether the ICMP error quotes a packet that its receiver sent in an allowed flow of this endpoint. */
static __always_inline bool endpoint_error_relates(struct __sk_buff *skb, const struct packet *packet,
						   const struct endpoint_entry *endpoint, enum metrics_direction hook)
{
	const int found = quoted_flow_find(skb, packet, endpoint, hook);
	const __u32 initiator = found & 1;
	struct judge_scratch *memory = scratch();

	if (found < QUOTED_FLOW_TO_ASK || !memory)
		return found == QUOTED_FLOW_ALLOWED;
	if (flow_ask_policy(&memory->quoted_flow, &memory->quoted, initiator, FLOW_BOTH_SIDES))
		return false;
	return found < QUOTED_FLOW_TO_ASK_BOTH ||
	       !flow_ask_policy(&memory->quoted_flow, &memory->quoted, 1 - initiator, FLOW_BOTH_SIDES);
}

#endif
