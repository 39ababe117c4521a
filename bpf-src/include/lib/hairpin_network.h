/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The answers of backends outside to workloads (lib/hairpin.h), at a device of the network. */
#ifndef AGENT_LIB_HAIRPIN_NETWORK_H
#define AGENT_LIB_HAIRPIN_NETWORK_H

#include "lib/early_fragment.h"
#include "lib/hairpin.h"

/* Returns whether the entry is that of the answers to a workload, of which the packet is one. */
static __always_inline bool entry_is_hairpin_reply(const struct conntrack_entry *entry, enum conntrack_side side)
{
	return entry_is_relayed(entry) && rewrite_applies(entry, side) && entry_is_to_workload(entry, side) &&
	       !conntrack_endpoint(entry, side);
}

/* The complete path of an answer that the quick parser reads; returns an action or NETWORK_JUDGE. */
__global int hairpin_reply_quickly(struct __sk_buff *skb, struct conntrack_entry *entry, const struct segment *segment,
				   __u64 now)
{
	if (!entry || !segment)
		return NETWORK_JUDGE;

	const __u8 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;
	const enum conntrack_side side = segment->source_side & 1;
	const __u32 endpoint_id = entry->delivery_index[1 - side];
	const struct endpoint_entry *endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);

	if (!endpoint || !endpoint->ifindex || ENDPOINT_OPTION(TRACE_NOTIFICATION) ||
	    !relay_holds(entry, segment, side, now) || !conntrack_is_current(entry) || !deliver_lives(skb, family))
		return NETWORK_JUDGE;
	if (relay_rewrite_quickly(skb, entry, family, segment->protocol))
		return network_drop(skb, DROP_MALFORMED);
	relay_advance(skb, entry, segment, now, RELAY_TO_WORKLOAD, family, quick_l4_offset(family));
	return way_send(skb, endpoint, entry_way(entry, side), family, METRICS_NETWORK);
}

/* Asks the policy of a workload for the flow of an answer again; returns a drop reason or HAIRPIN_OTHER. */
__global int hairpin_reply_ask(const struct packet *packet, struct conntrack_entry *entry, __u32 side)
{
	if (!packet || !entry)
		return HAIRPIN_OTHER;
	hairpin_show(packet, entry, false);
	return hairpin_ask(entry, 1 - (side & 1));
}

/* Drops an answer that the policy of its workload denies; returns the action. */
__global int hairpin_reply_drop(struct __sk_buff *skb, struct packet *packet, const struct conntrack_entry *entry,
				const struct endpoint_entry *endpoint, int reason)
{
	struct judge_scratch *memory = scratch();

	if (!packet || !entry || !endpoint || !memory)
		return TC_ACT_SHOT;
	flow_of_entry(&memory->judgement.flow, entry, packet_conntrack_side(packet) & 1);
	hairpin_reply_show(packet, entry);
	metrics_count(METRICS_INGRESS, reason & 0xff, skb->len);
	if (ENDPOINT_OPTION(DROP_NOTIFICATION))
		endpoint_notify(skb, endpoint, packet, &memory->judgement.flow, METRICS_INGRESS, EVENT_DROP,
				reason & 0xff, 0);
	return TC_ACT_SHOT;
}

/* Rewrites an answer; returns 0, or the action where that may not be. */
__global int hairpin_reply_rewrite(struct __sk_buff *skb, struct packet *packet, const struct conntrack_entry *entry)
{
	struct judge_scratch *memory = scratch();
	enum conntrack_side side;

	if (!packet || !entry || !memory)
		return TC_ACT_SHOT;
	side = packet_conntrack_side(packet) & 1;
	flow_of_entry(&memory->judgement.flow, entry, side);
	deliver_prepare(skb);
	if (!deliver_lives(skb, packet->family))
		return network_drop(skb, DROP_NOT_FORWARDABLE);
	if (packet->first_fragment)
		network_remember(skb, packet, entry->delivery_index[1 - side]);
	return relay_rewrite(skb, packet, entry) || relay_renumber(skb, packet, entry)
		       ? network_drop(skb, DROP_MALFORMED)
		       : 0;
}

/* The complete path of an answer that the quick parser does not read, or that the policy has to judge. */
__global int hairpin_reply_slowly(struct __sk_buff *skb, struct packet *packet)
{
	const struct endpoint_entry *endpoint;
	struct conntrack_entry *entry;
	struct segment segment;
	enum conntrack_side side;
	int action, change, reason = DROP_NONE;
	__u32 endpoint_id;

	if (!packet)
		return NETWORK_JUDGE;
	side = packet_conntrack_side(packet) & 1;
	segment = packet_segment(packet);
	entry = conntrack_find(packet);
	if (!entry || !entry_is_hairpin_reply(entry, side) || !relay_holds(entry, &segment, side, now_ns()))
		return NETWORK_JUDGE;
	endpoint_id = entry->delivery_index[1 - side];
	endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	if (!endpoint || !endpoint->ifindex)
		return NETWORK_JUDGE;
	if (!conntrack_is_current(entry))
		reason = hairpin_reply_ask(packet, entry, side);
	forget_range(reason);
	if (reason == HAIRPIN_OTHER)
		return NETWORK_JUDGE;
	if (reason)
		return hairpin_reply_drop(skb, packet, entry, endpoint, reason);
	action = hairpin_reply_rewrite(skb, packet, entry);
	if (action)
		return action;
	change = hairpin_advance_slowly(skb, packet, entry);
	return hairpin_conclude(skb, endpoint, packet, entry, change);
}

/* The complete path of a packet that is relayed, and that the quick parser reads; returns an action or NETWORK_JUDGE. */
__global int network_relay_quickly(struct __sk_buff *skb, struct conntrack_entry *entry, const struct segment *segment,
				   __u64 now)
{
	if (!entry || !segment)
		return NETWORK_JUDGE;
	if (entry_is_hairpin_reply(entry, segment->source_side & 1))
		return hairpin_reply_quickly(skb, entry, segment, now);
	return entry_is_transit(entry) ? relay_quickly(skb, entry, segment, now) : NETWORK_JUDGE;
}

#endif
