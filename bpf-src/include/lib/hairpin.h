/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Flows of a workload to a service of which both addresses are rewritten, by two entries as those of lib/relay.h:
 *
 * - To itself: the service has selected its client. The stack of a workload takes no packet from its own address, so
 *   the backend knows the client by the address of the frontend. The workload has just sent there by its veth, so that
 *   it answers there, and no socket of this node can be meant unless the frontend is its own. No policy judges such a
 *   flow: inside of the workload, where it would not pass its veth, none does either. It never meets the stack.
 * - To a backend outside, where flows of workloads leave masqueraded (lib/masquerade.h): the backend knows the client by
 *   the address of this node. The entry of the answers belongs to the workload, whose policy is asked at the device.
 */
#ifndef AGENT_LIB_HAIRPIN_H
#define AGENT_LIB_HAIRPIN_H

#include "lib/relay.h"

/* What judge_from_endpoint() leaves to hairpin_finish(), which has more stack, in the place of an action. */
#define HAIRPIN_FOLLOWS -5 /* the packet goes on as its entry says */
#define HAIRPIN_BEGINS -6  /* it opens a flow to a backend outside */
#define HAIRPIN_TURNS -7   /* it opens a flow of the workload to itself */

#define HAIRPIN_OPENS -4     /* in the place of an action: the packet opens a flow, or is of no flow of these */
#define HAIRPIN_OTHER 0x1000 /* in the place of a drop reason: the flow has other parties now */
#define HAIRPIN_ASKS 0x2000  /* the same: hairpin_ask() has to be called */

/* Returns whether the workload is its own backend. */
static __always_inline bool entry_is_to_itself(const struct conntrack_entry *entry)
{
	return !(entry->flags & (CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH));
}

/* Opens both entries of a flow, in which judge_scratch has that of the client's packets then; returns a drop reason. */
__global int hairpin_open(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement)
{
	__u32 to_client, to_backend;

	if (!packet || !judgement)
		return DROP_CONNTRACK_FULL;
	to_client = RELAY_TO_WORKLOAD | judgement->flow.endpoint_id[PACKET_SOURCE];
	to_backend = judgement->flow.endpoint_id[PACKET_DESTINATION] ? to_client : judgement->device;
	judgement->frontend_overflow = endpoint_flow_overflows(packet, judgement);
	judgement->overflow = flow_usage_open(judgement->flow.endpoint_id[PACKET_SOURCE], flow_table(packet));
	return relay_open_legs(skb, packet, judgement, to_client, to_backend);
}

/* Refuses a packet that cannot be sent on; endpoint_conclude() answers it. Returns the action. */
static __always_inline int hairpin_refuse(__u32 way)
{
	struct judge_scratch *memory = scratch();

	if (memory)
		memory->judgement.device = way;
	return action_drop(DROP_NOT_FORWARDABLE);
}

/* Answers a packet of a workload that is refused as a router does, from its destination; returns the action. */
__global int hairpin_answer(struct __sk_buff *skb, const struct packet *packet, const struct endpoint_entry *endpoint)
{
	struct judge_scratch *memory = scratch();
	__u32 error;

	if (!packet || !endpoint || !memory || !reject_is_due(packet, endpoint->endpoint_id))
		return TC_ACT_SHOT;
	error = relay_refusal(skb, packet->family, memory->judgement.device, 0);
	if (!answer_make(skb, packet, (struct answer *)memory, endpoint->mac, error))
		return TC_ACT_SHOT;
	return answer_deliver(skb, endpoint);
}

/* The complete path of a packet of a workload that the quick parser reads; returns an action or HAIRPIN_OPENS. */
__global int hairpin_quickly(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
			     struct conntrack_entry *entry, const struct segment *segment, __u64 now)
{
	if (!endpoint || !entry || !segment)
		return HAIRPIN_OPENS;

	const __u8 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;
	const enum conntrack_side side = segment->source_side & 1;
	__u32 way;

	relay_follow_class(skb, entry, side, family);
	way = entry_way(entry, side);
	if (!frame_is_to_gateway(skb, endpoint) || !way_passes(skb, way, family))
		return HAIRPIN_OPENS;
	if (relay_rewrite_quickly(skb, entry, family, segment->protocol))
		return action_drop(DROP_MALFORMED);
	relay_advance(skb, entry, segment, now, way, family, quick_l4_offset(family));
	return way_send(skb, endpoint, way, family, METRICS_EGRESS);
}

/* Sets judge_scratch to what the client would have sent to the backend without the translation. side: the client's. */
__global int hairpin_show(const struct packet *packet, const struct conntrack_entry *entry, __u32 from_client)
{
	struct judge_scratch *memory = scratch();
	struct packet *shown;

	if (!packet || !entry || !memory)
		return 0;
	shown = &memory->quoted;
	__builtin_memcpy(shown, packet, sizeof(*shown));
	if (from_client) {
		tuple_set_end(packet_tuple(shown), &entry->end, true);
	} else {
		shown->destination = packet->source;
		shown->destination_port_be = packet->source_port_be;
		tuple_set_end(packet_tuple(shown), &entry->other, false);
	}
	return 0;
}

/*
 * Asks the policy again for a flow to a backend outside, of which judge_scratch shows a packet; returns a drop reason or
 * HAIRPIN_OTHER. Nothing is kept of a denial: each packet is judged until the policy allows the flow again.
 */
__global int hairpin_ask(struct conntrack_entry *entry, __u32 client_side)
{
	struct judge_scratch *memory = scratch();
	struct flow *flow;
	int reason;

	if (!entry || !memory)
		return DROP_NO_ENDPOINT;
	flow = &memory->judgement.flow;
	reason = flow_find_parties(flow, &memory->quoted, PACKET_SOURCE, conntrack_endpoint(entry, client_side & 1),
				   ORIGIN_ANY_INTERFACE | ORIGIN_MAY_BE_HOST);
	if (reason)
		return reason;
	if (flow_has_other_parties(flow, entry, client_side & 1) || flow->entry_flags & CONNTRACK_TO_NODE)
		return HAIRPIN_OTHER;
	reason = flow_ask_policy(flow, &memory->quoted, PACKET_SOURCE, FLOW_BOTH_SIDES);
	if (!reason && flow->redirect)
		reason = DROP_NO_PROXY;
	if (reason)
		return reason;
	client_side &= 1;
	entry->identity[client_side] = flow->identity[PACKET_SOURCE];
	entry->identity[1 - client_side] = flow->identity[PACKET_DESTINATION];
	WRITE_ONCE(entry->generation, flow->generation);
	if (rewrite_destination(entry))
		leg_renew(&memory->quoted, entry, client_side);
	return DROP_NONE;
}

/* Renews the verdict on the flow of a packet of the workload; returns DROP_NONE, HAIRPIN_OTHER or HAIRPIN_ASKS. */
__global int hairpin_renew(const struct packet *packet, struct conntrack_entry *entry)
{
	if (!packet || !entry)
		return HAIRPIN_OTHER;

	const __u64 generation = conntrack_generation(entry); /* before the backend is asked for */

	if (generation == READ_ONCE(entry->generation))
		return DROP_NONE;
	if (rewrite_destination(entry) && !service_keeps(entry, packet->family))
		return HAIRPIN_OTHER;
	if (!entry_is_to_itself(entry)) {
		hairpin_show(packet, entry, true);
		return HAIRPIN_ASKS;
	}
	if ((generation ^ READ_ONCE(entry->generation)) >> GENERATION_OWNER_SHIFT)
		return HAIRPIN_OTHER;
	WRITE_ONCE(entry->generation, generation);
	return DROP_NONE;
}

/* Judges a packet of a workload by the entry that it has found; returns an action or HAIRPIN_OPENS. */
static __always_inline int hairpin_judge(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					 const struct packet *packet, struct conntrack_entry *entry,
					 const struct segment *segment, struct judgement *judgement)
{
	const enum conntrack_side side = judgement->source_side & 1;
	int reason;

	if (conntrack_endpoint(entry, side) != endpoint->endpoint_id ||
	    !relay_holds(entry, segment, side, judgement->now))
		return HAIRPIN_OPENS;
	reason = hairpin_renew(packet, entry);
	if (reason == HAIRPIN_ASKS)
		reason = hairpin_ask(entry, side);
	forget_range(reason);
	if (reason == HAIRPIN_OTHER)
		return HAIRPIN_OPENS;
	if (reason)
		return endpoint_drop(skb, endpoint, packet, &judgement->flow, METRICS_EGRESS, reason);
	return HAIRPIN_FOLLOWS;
}

/* Changes the entries of a flow by a packet that is rewritten, and slow; returns an enum conntrack_change. */
__global int hairpin_advance_slowly(struct __sk_buff *skb, const struct packet *packet, struct conntrack_entry *entry)
{
	struct segment segment;
	enum conntrack_side side;

	if (!packet || !entry)
		return CONNTRACK_UNCHANGED;
	side = packet_conntrack_side(packet) & 1;
	segment = packet_segment(packet);
	segment.source_side = side;
	return relay_advance(skb, entry, &segment, now_ns(), entry_way(entry, side), packet->family,
			     packet->later_fragment ? 0 : packet->l4_offset);
}

/* Rewrites a packet of a workload as its entry says; returns 0, or the action where that may not be. */
__global int hairpin_rewrite(struct __sk_buff *skb, const struct packet *packet, struct conntrack_entry *entry)
{
	struct judge_scratch *memory = scratch();
	enum conntrack_side side;
	__u32 way;

	if (!packet || !entry || !memory)
		return action_drop(DROP_NO_ENDPOINT);
	side = packet_conntrack_side(packet) & 1;
	relay_follow_class(skb, entry, side, packet->family);
	way = entry_way(entry, side);
	if (!way_passes(skb, way, packet->family))
		return hairpin_refuse(way);
	flow_of_entry(&memory->judgement.flow, entry, side);
	return relay_rewrite(skb, packet, entry) ? action_drop(DROP_MALFORMED) : 0;
}

/* Sets the backend's peer in a reply as the policy knows the flow. */
static __always_inline void hairpin_reply_show(struct packet *packet, const struct conntrack_entry *entry)
{
	tuple_set_end(packet_tuple(packet), &entry->other, true);
}

/* Traces a packet of a workload, or a reply to it, that is rewritten, and sends it on; returns the action. */
__global int hairpin_conclude(struct __sk_buff *skb, const struct endpoint_entry *endpoint, struct packet *packet,
			      const struct conntrack_entry *entry, int change)
{
	struct judge_scratch *memory = scratch();
	enum conntrack_side side;
	bool reply;
	__u32 way;

	if (!endpoint || !packet || !entry || !memory)
		return TC_ACT_SHOT;
	side = packet_conntrack_side(packet) & 1;
	reply = !conntrack_endpoint(entry, side);
	way = entry_way(entry, side);
	if (reply)
		hairpin_reply_show(packet, entry);
	endpoint_trace(skb, endpoint, packet, &memory->judgement.flow, reply ? METRICS_INGRESS : METRICS_EGRESS,
		       change);
	return way_send(skb, endpoint, way, packet->family, reply ? METRICS_NETWORK : METRICS_EGRESS);
}

/*
 * Sends on a packet of a workload whose flow may go on; returns the action. Its parts are called one after another, since
 * a call chain has not enough stack for all of them.
 */
static __always_inline int hairpin_follow(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					  struct packet *packet)
{
	struct conntrack_entry *entry = conntrack_find(packet);
	int action;

	if (!entry)
		return action_drop(DROP_CONNTRACK_FULL); /* evicted a moment ago */
	action = hairpin_rewrite(skb, packet, entry);
	if (action)
		return action;
	if (relay_renumber(skb, packet, entry))
		return action_drop(DROP_MALFORMED);
	return hairpin_conclude(skb, endpoint, packet, entry, hairpin_advance_slowly(skb, packet, entry));
}

/* Opens the flow of a packet that is one to the backend already, and sends it on; returns the action. */
static __always_inline int hairpin_begin(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					 const struct packet *packet, struct judge_scratch *memory)
{
	struct judgement *judgement = &memory->judgement;
	struct conntrack_entry *entry = &memory->entry;
	int reason = hairpin_open(skb, packet, judgement);
	__u32 way;

	forget_range(reason);
	if (reason)
		return endpoint_drop(skb, endpoint, packet, &judgement->flow, METRICS_EGRESS, reason & 0xff);
	translation_tell_opened(packet, judgement, endpoint->endpoint_id);
	endpoint_trace(skb, endpoint, packet, &judgement->flow, METRICS_EGRESS, CONNTRACK_CREATED);
	if (entry->rewrite & CONNTRACK_REWRITE_FROM_HIGH)
		way = entry_way(entry, CONNTRACK_HIGH);
	else
		way = entry_way(entry, CONNTRACK_LOW);
	if (!way_passes(skb, way, packet->family)) {
		entry_set_rewrite(entry, CONNTRACK_LOW, CONNTRACK_REWRITE_DESTINATION, &packet->destination,
				  &judgement->frontend, judgement->frontend_port_be);
		return packet_rewrite(skb, packet, entry) ? action_drop(DROP_MALFORMED) : hairpin_refuse(way);
	}
	if (packet_rewrite_with(skb, packet, entry, REWRITE_WITH_OTHER))
		return action_drop(DROP_MALFORMED);
	return way_send(skb, endpoint, way, packet->family, METRICS_EGRESS);
}

/* Fills in that both sides of a flow are the workload; returns whether that failed. */
static __always_inline bool hairpin_turns(struct flow *flow, __u32 endpoint_id)
{
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->endpoint_id[PACKET_SOURCE] = endpoint_id;
	flow->endpoint_id[PACKET_DESTINATION] = endpoint_id;
	flow->generation = 2 * generation_of(endpoint_id);
	return flow_find_endpoint(flow, PACKET_SOURCE) || flow_find_endpoint(flow, PACKET_DESTINATION);
}

/* Numbers a packet that has opened its flow, and is sent on; returns the action. */
static __always_inline int hairpin_number(struct __sk_buff *skb, const struct packet *packet, int action)
{
	const struct conntrack_entry *entry = conntrack_find(packet);

	if (entry && entry_is_relayed(entry) && relay_renumber(skb, packet, entry))
		return action_drop(DROP_MALFORMED);
	return action;
}

/* Sends on a packet that is judged; step: what judge_from_endpoint() has returned. Returns the action. */
__global int hairpin_finish(struct __sk_buff *skb, const struct endpoint_entry *endpoint, struct packet *packet,
			    int step)
{
	struct judge_scratch *memory = scratch();
	int action;

	if (!endpoint || !packet || !memory)
		return action_drop(DROP_NO_ENDPOINT);
	deliver_prepare(skb);
	if (!frame_is_to_gateway(skb, endpoint)) {
		metrics_count(METRICS_EGRESS, DROP_NONE, skb->len);
		return ACTION_PASS;
	}
	if (step == HAIRPIN_FOLLOWS)
		return hairpin_follow(skb, endpoint, packet);
	if (step == HAIRPIN_TURNS && hairpin_turns(&memory->judgement.flow, endpoint->endpoint_id))
		return action_drop(DROP_NO_ENDPOINT);
	action = hairpin_begin(skb, endpoint, packet, memory);
	packet_restore(packet);
	return action_is_drop(action) ? action : hairpin_number(skb, packet, action);
}

/* Returns whether the workload sends the packet from its own address to its own address. */
static __always_inline bool packet_turns(const struct packet *packet, const struct endpoint_entry *endpoint)
{
	return address_equals(&packet->source, &packet->destination) &&
	       (packet->family == FAMILY_IPV4 ? *(const __be32 *)endpoint->ipv4 == packet->source.v4
					      : address_equals((const union address *)endpoint->ipv6, &packet->source));
}

/* Translates an ICMP error of a workload as the entry of the quoted packet says, and sends it on; returns the action. */
__global int hairpin_send_error(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
				const struct packet *error, const struct conntrack_entry *entry, __u32 way)
{
	if (!endpoint || !error || !entry)
		return action_drop(DROP_ICMP_ERROR_UNTRACKED);
	deliver_prepare(skb);
	if (!conntrack_is_current(entry) || !frame_is_to_gateway(skb, endpoint) || !way_passes(skb, way, error->family))
		return action_drop(DROP_ICMP_ERROR_UNTRACKED);
	if (relay_rewrite_error(skb, error, entry))
		return action_drop(DROP_MALFORMED);
	return way_send(skb, endpoint, way, error->family, METRICS_EGRESS);
}

/*
 * Translates an ICMP error of a workload about a packet that it got rewritten, and sends it on; returns an action, or
 * HAIRPIN_OPENS where it is about another packet.
 */
__global int hairpin_error(struct __sk_buff *skb, const struct endpoint_entry *endpoint, const struct packet *error)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	enum conntrack_side side;

	if (!endpoint || !error || !memory)
		return HAIRPIN_OPENS;
	entry = relay_of_error(skb, error, memory);
	side = error_side(&memory->quoted) & 1;
	if (!entry || !address_equals(&memory->quoted.destination, &error->source) ||
	    conntrack_endpoint(entry, side) != endpoint->endpoint_id)
		return HAIRPIN_OPENS;
	return hairpin_send_error(skb, endpoint, error, entry, entry_way(entry, side));
}

#endif
