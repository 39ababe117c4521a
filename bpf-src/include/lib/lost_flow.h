/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Segments of TCP from the middle of a connection that has no entry. */
#ifndef AGENT_LIB_LOST_FLOW_H
#define AGENT_LIB_LOST_FLOW_H

#include "lib/endpoint_record.h"

/* Remembers the connection of an answer whose entry is in the overflow. */
__global int flow_note_answer(const struct packet *packet, __u64 now)
{
	if (!packet)
		return 0;
	if (packet->family == FAMILY_IPV4) {
		struct conntrack4_key key __attribute__((aligned(8)));

		packet4_key(packet, &key);
		overflow_flow_note((const __u64 *)&key, CONNTRACK4_KEY_WORDS, now);
	} else {
		struct conntrack6_key key __attribute__((aligned(8)));

		packet6_key(packet, &key);
		overflow_flow_note((const __u64 *)&key, CONNTRACK6_KEY_WORDS, now);
	}
	return 0;
}

/*
 * Returns whether this node may have had an entry of a TCP packet's connection, which is not there any more: tables have
 * been carried over a while ago, or its entry was where the kernel evicts some.
 */
__global int flow_may_be_lost(const struct packet *packet, __u64 now)
{
	if (!packet)
		return false;
	return now < node_config.flows_lost_until_ns || packet_is_noted(packet, now);
}

/*
 * Returns whether a packet of an endpoint, which no rule of its own egress policy allows, may be an answer in a
 * connection whose entry was lost: a rule allows its peer to open that connection, and the peer's policy allows the
 * packet as it is. That everything is allowed to the peer is not enough, or any packet without a SYN would pass.
 */
static __always_inline bool answers_lost_flow(struct flow *flow, const struct packet *packet)
{
	const __u32 source = 1U << PACKET_SOURCE;
	const __u32 destination = 1U << PACKET_DESTINATION;

	return flow->denied_side == PACKET_SOURCE && flow_tracked_sides(flow) & source &&
	       !flow_ask_policy(flow, packet, PACKET_SOURCE, destination) &&
	       !flow_ask_policy(flow, packet, PACKET_DESTINATION, FLOW_BOTH_SIDES) && !(flow->by_default & source);
}

/*
 * A TCP packet that opens no connection comes from the middle of one whose entry was lost, and does not tell who opened
 * it. Where policy allows both sides to open it, the direction stays unknown, and a later policy must allow both. An
 * endpoint that may only answer keeps answering where the entry can have been lost and no rule denies the packet;
 * towards an endpoint, only what its policy allows as it is passes. reason is that of the policies, as if the packet
 * opened a flow; returns the drop reason.
 */
__global int judge_lost_flow(const struct packet *packet, struct judgement *judgement, __u32 hook, int reason)
{
	if (!packet || !judgement)
		return DROP_NO_ENDPOINT;

	struct flow *flow = &judgement->flow;
	const __u8 denied_side = flow->denied_side;
	const __u8 audited = flow->audited;

	if (!reason) {
		if (!flow_ask_policy(flow, packet, PACKET_DESTINATION, FLOW_BOTH_SIDES))
			flow->entry_flags |= CONNTRACK_DIRECTION_UNKNOWN;
	} else if (reason == DROP_POLICY_DENIED && hook == METRICS_EGRESS && !(packet->tcp_flags & TCP_SYN) &&
		   judgement->put_flags == BPF_NOEXIST && flow_may_be_lost(packet, judgement->now) &&
		   answers_lost_flow(flow, packet)) {
		judgement->initiator = PACKET_DESTINATION;
		return DROP_NONE;
	}
	flow->denied_side = denied_side;
	flow->audited = audited;
	return reason;
}

#endif
