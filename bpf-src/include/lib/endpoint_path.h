/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The fast path of packets from and to an endpoint, after their headers are parsed. */
#ifndef AGENT_LIB_ENDPOINT_PATH_H
#define AGENT_LIB_ENDPOINT_PATH_H

#include "lib/delivery.h"
#include "lib/event.h"
#include "lib/flow.h"
#include "lib/icmp_error.h"
#include "lib/metrics.h"
#include "lib/nat46.h"
#include "lib/nd.h"
#include "lib/quick_parse.h"
#include "lib/route.h"
#include "lib/translation.h"
#include "maps/interface_map.h"

/* An option of the variable or parameter "endpoint". */
#define ENDPOINT_OPTION(name) (endpoint->options & OPTION_##name)

/* Returns the endpoint id of an interface whose cell is another's; 0 where it has none. */
__local __u32 interface_in_overflow(__u32 ifindex)
{
	const __u32 *endpoint_id = bpf_map_lookup_elem(&interfaces_overflow, &ifindex);

	return endpoint_id ? *endpoint_id : 0;
}

/* Returns the endpoint of the packet's interface; NULL where it has none, or where the endpoint is closed. */
static __always_inline const struct endpoint_entry *endpoint_of(const struct __sk_buff *skb)
{
	const __u32 ifindex = skb->ifindex;
	__u32 index = ifindex % INTERFACE_CELLS;
	const __u64 *word = bpf_map_lookup_elem(&interfaces, &index);
	const struct endpoint_entry *endpoint;
	union {
		__u64 word;
		struct interface_cell cell;
	} found;

	if (unlikely(!word))
		return NULL;
	found.word = READ_ONCE(*word); /* both fields at one moment */
	index = likely(found.cell.ifindex == ifindex) ? found.cell.endpoint_id : interface_in_overflow(ifindex);
	if (unlikely(!index))
		return NULL;
	endpoint = bpf_map_lookup_elem(&endpoints, &index);
	return likely(endpoint) && likely(endpoint->ifindex) ? endpoint : NULL;
}

static __always_inline enum packet_side own_side(enum metrics_direction hook)
{
	return hook == METRICS_EGRESS ? PACKET_SOURCE : PACKET_DESTINATION;
}

static __always_inline enum conntrack_side side_of_source(enum conntrack_side source_side, enum packet_side side)
{
	return side == PACKET_SOURCE ? source_side : 1 - source_side;
}

/*
 * Returns whether the verdict of the entry is valid and has this endpoint as its own side, and the packet is from the
 * other. No packet comes from the address of a service: the answers of its flows have another entry.
 */
static __always_inline bool endpoint_verdict_holds(const struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						   const struct conntrack_entry *entry, enum conntrack_side source_side,
						   enum metrics_direction hook, const struct segment *segment,
						   __u64 now)
{
	const enum conntrack_side own = side_of_source(source_side, own_side(hook));

	return likely(conntrack_party(entry, READ_ONCE(entry->flags), own) == endpoint->endpoint_id &&
		      conntrack_is_current(entry) && !conntrack_is_expired(entry, now) &&
		      (hook == METRICS_EGRESS || (origin_is_peer(entry, source_side, receiving_ifindex(skb)) &&
						  likely(!entry_is_private(entry)))) &&
		      !conntrack_is_reopened(entry->flags, source_side, segment->protocol, segment->tcp_flags));
}

/* Returns whether the frame is addressed to the gateway; the stack ignores another one. */
static __always_inline bool frame_is_to_gateway(const struct __sk_buff *skb, const struct endpoint_entry *endpoint)
{
	return (void *)(long)skb->data + ETH_ALEN <= (void *)(long)skb->data_end &&
	       mac_equals((void *)(long)skb->data, endpoint->host_mac);
}

/* Forwards a packet: hands it to the endpoint with this id, or to the stack where that is 0. */
static __always_inline int endpoint_forward(struct __sk_buff *skb, const struct endpoint_entry *endpoint, __u8 family,
					    enum metrics_direction hook, __u32 peer_id)
{
	const struct endpoint_entry *peer;

	metrics_count(hook, DROP_NONE, skb->len);
	if (hook != METRICS_EGRESS || !peer_id || !frame_is_to_gateway(skb, endpoint))
		return ACTION_PASS;
	peer = bpf_map_lookup_elem(&endpoints, &peer_id);
	if (unlikely(!peer || !peer->ifindex))
		return ACTION_PASS; /* removed a moment ago */
	return deliver_to_workload(skb, family, peer->ifindex, peer->mac);
}

/*
 * Returns whether the source of a packet is rewritten here: where it reaches its receiver. Before that it has the
 * source that the stack, and the program of the receiver, know the flow by. That of a masqueraded flow is rewritten
 * where it leaves by a device.
 */
static __always_inline bool source_rewrite_is_due(const struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						  const struct conntrack_entry *entry, enum conntrack_side source_side,
						  enum metrics_direction hook, __u32 peer_id)
{
	return rewrite_applies(entry, source_side) &&
	       !(entry->rewrite & (CONNTRACK_REWRITE_DESTINATION | CONNTRACK_REWRITE_MASQUERADE)) &&
	       (hook == METRICS_INGRESS || (peer_id && frame_is_to_gateway(skb, endpoint)));
}

/* Returns the id of the endpoint to which the entry delivers packets of this side; 0: the stack delivers. */
static __always_inline __u32 conntrack_peer_of(const struct conntrack_entry *entry, enum conntrack_side source_side)
{
	const enum conntrack_side to = 1 - source_side;

	return entry->delivery_kind[to] == CONNTRACK_TO_PEER ? entry->delivery_index[to] : 0;
}

/* Sends a packet of the endpoint by a device of the network; 0: the stack sends it. */
static __always_inline int endpoint_send(struct __sk_buff *skb, const struct endpoint_entry *endpoint, __u8 family,
					 __u32 ifindex)
{
	metrics_count(METRICS_EGRESS, DROP_NONE, skb->len);
	return likely(ifindex) && frame_is_to_gateway(skb, endpoint) ? deliver_to_neighbour(skb, family, ifindex)
								     : ACTION_PASS;
}

/*
 * Counts a packet for the flow. The program of a local sender has counted what the stack brings from it, where the
 * options of that endpoint ask for it.
 */
static __always_inline void endpoint_account(const struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					     struct conntrack_entry *entry, enum conntrack_side source_side,
					     enum metrics_direction hook)
{
	if (ENDPOINT_OPTION(CONNTRACK_ACCOUNTING) &&
	    (hook == METRICS_EGRESS || !conntrack_endpoint(entry, source_side)))
		conntrack_account(entry, source_side, skb->len);
}

/* Flags of entries whose packets need more than the fast path does. */
#define CONNTRACK_SLOW \
	(CONNTRACK_DENIED | CONNTRACK_UNTRACKED_LOW | CONNTRACK_UNTRACKED_HIGH | CONNTRACK_PROXIED | CONNTRACK_NAT46)

/* Returns whether the packet is of an established flow, so that policy need not be asked. */
static __always_inline bool endpoint_may_follow(const struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						const struct conntrack_entry *entry, enum conntrack_side source_side,
						const struct segment *segment, enum metrics_direction hook, __u64 now)
{
	return endpoint_verdict_holds(skb, endpoint, entry, source_side, hook, segment, now) &&
	       likely(!(entry->flags & CONNTRACK_SLOW)) &&
	       (likely(!ENDPOINT_OPTION(TRACE_NOTIFICATION)) || conntrack_rests(entry, source_side, segment, now));
}

/* Remembers the connection of an answer that the quick parser reads, and whose entry is in the overflow. */
__global int endpoint_note_answer(struct __sk_buff *skb, __u64 now)
{
	struct quick_l4 l4;

	if (!skb)
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct conntrack4_key key __attribute__((aligned(8)));
		const struct iphdr *ip = quick_parse_ipv4(skb, &l4);

		if (!ip)
			return 0;
		conntrack4_key_of(&key, ip->saddr, ip->daddr, l4.source_port_be, l4.destination_port_be, IPPROTO_TCP);
		overflow_flow_note((const __u64 *)&key, CONNTRACK4_KEY_WORDS, now);
	} else {
		struct conntrack6_key key __attribute__((aligned(8)));
		const struct ipv6hdr *ip = quick_parse_ipv6(skb, &l4);

		if (!ip)
			return 0;
		conntrack6_key_of(&key, (const union address *)&ip->saddr, (const union address *)&ip->daddr,
				  l4.source_port_be, l4.destination_port_be, IPPROTO_TCP);
		overflow_flow_note((const __u64 *)&key, CONNTRACK6_KEY_WORDS, now);
	}
	return 0;
}

static __always_inline void endpoint_advance(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					     struct conntrack_entry *entry, enum conntrack_side source_side,
					     __u8 family, const struct segment *segment, enum metrics_direction hook,
					     __u64 now)
{
	const enum conntrack_change change = conntrack_advance_by(entry, source_side, segment, now);

	if (change == CONNTRACK_REFRESHED)
		route_refresh(skb, entry, source_side, family, endpoint);
	else if (change == CONNTRACK_STATE_CHANGED && hook == METRICS_EGRESS &&
		 unlikely(overflow_flow_is_answered(entry->flags, segment->protocol)))
		endpoint_note_answer(skb, now);
	if (hook == METRICS_INGRESS)
		origin_remember(entry, source_side, receiving_ifindex(skb));
}

/*
 * Forwards a packet of an established flow. Only packets that the quick parser reads bypass the stack on their way to
 * the network, since the host program delivers no others from there.
 */
static __always_inline int endpoint_forward_quickly(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						    const struct conntrack_entry *entry,
						    enum conntrack_side source_side, __u8 family,
						    enum metrics_direction hook)
{
	const enum conntrack_side destination = 1 - source_side;

	if (hook == METRICS_EGRESS && entry_bypasses_stack(entry, destination))
		return endpoint_send(skb, endpoint, family, route_of_packet(skb, endpoint, entry, destination, family));
	return endpoint_forward(skb, endpoint, family, hook, conntrack_peer_of(entry, source_side));
}

/*
 * Sends a packet to the network with the source that its receiver knows. Where the stack has to handle it, it keeps the
 * source of the workload, and the program of the device rewrites what comes out.
 */
static __always_inline int endpoint_send_rewritten(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						   const struct conntrack_entry *entry, __u8 family, __u8 protocol,
						   __u32 ifindex)
{
	if (!ifindex || !frame_is_to_gateway(skb, endpoint) || !deliver_fits(skb, ifindex) ||
	    !deliver_lives(skb, family)) {
		metrics_count(METRICS_EGRESS, DROP_NONE, skb->len);
		return ACTION_PASS;
	}
	if (rewrite_quickly(skb, entry, family, protocol))
		return action_drop(DROP_MALFORMED);
	metrics_count(METRICS_EGRESS, DROP_NONE, skb->len);
	return deliver_fitting(skb, family, ifindex);
}

/* In the place of an action: the packet is one for the slow path, which parses it anew. */
#define ACTION_UNREAD -8

/*
 * The complete path of a packet that its entry rewrites. The destination is rewritten first, because the packet is
 * routed and forwarded by it, and the source last (source_rewrite_is_due). Returns ACTION_UNREAD, and has changed nothing,
 * where the packet has to open its flow again, whose other entry was evicted.
 */
__global int endpoint_follow_rewritten(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
				       struct conntrack_entry *entry, const struct segment *segment, __u64 now)
{
	if (!endpoint || !entry || !segment)
		return action_drop(DROP_NO_ENDPOINT);

	const __u8 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;
	const __u32 l4_offset = quick_l4_offset(family);
	const enum conntrack_side side = segment->source_side & 1;
	const enum metrics_direction hook = segment->hook & 1;
	const bool rests = conntrack_rests(entry, side, segment, now);

	if (unlikely(!rests) && translation_tell(skb, entry, segment, now, l4_offset) && hook == METRICS_EGRESS)
		return ACTION_UNREAD;
	if (rewrite_destination(entry) && rewrite_quickly(skb, entry, family, segment->protocol))
		return action_drop(DROP_MALFORMED);
	if (unlikely(!rests))
		endpoint_advance(skb, endpoint, entry, side, family, segment, hook, now);
	endpoint_account(skb, endpoint, entry, side, hook);
	if (hook == METRICS_EGRESS && !rewrite_destination(entry) && entry_bypasses_stack(entry, 1 - side))
		return endpoint_send_rewritten(skb, endpoint, entry, family, segment->protocol,
					       route_of_packet(skb, endpoint, entry, 1 - side, family));
	if (source_rewrite_is_due(skb, endpoint, entry, side, hook, conntrack_peer_of(entry, side)) &&
	    rewrite_quickly(skb, entry, family, segment->protocol))
		return action_drop(DROP_MALFORMED);
	return endpoint_forward_quickly(skb, endpoint, entry, side, family, hook);
}

/* The complete path of a packet of an established flow; returns an action or ACTION_UNREAD. */
static __always_inline int endpoint_follow(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					   struct conntrack_entry *entry, enum conntrack_side source_side, __u8 family,
					   const struct segment *segment, enum metrics_direction hook, __u64 now)
{
	if (unlikely(rewrite_applies(entry, source_side))) {
		struct segment copy = *segment;

		copy.source_side = source_side;
		copy.hook = hook;
		return endpoint_follow_rewritten(skb, endpoint, entry, &copy, now);
	}
	if (unlikely(!conntrack_rests(entry, source_side, segment, now)))
		endpoint_advance(skb, endpoint, entry, source_side, family, segment, hook, now);
	endpoint_account(skb, endpoint, entry, source_side, hook);
	return endpoint_forward_quickly(skb, endpoint, entry, source_side, family, hook);
}

static __always_inline void endpoint_notify(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					    const struct packet *packet, const struct flow *flow,
					    enum metrics_direction hook, enum event_type type, enum drop_reason reason,
					    __u8 policy_flags)
{
	const struct event_spec spec = {
		.type = type,
		.reason = reason,
		.direction = hook,
		.policy_flags = policy_flags,
		.endpoint_id = endpoint->endpoint_id,
		.captures = !!ENDPOINT_OPTION(CAPTURE),
	};

	event_emit(skb, packet, flow, &spec);
}

/*
 * Notifies a drop by the policy of the endpoint on denied_side, by the options of that endpoint; endpoint_conclude()
 * counts it.
 */
static __always_inline int endpoint_drop_by(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					    const struct packet *packet, const struct flow *flow,
					    enum metrics_direction hook, enum drop_reason reason,
					    enum packet_side denied_side)
{
	const bool own = denied_side == own_side(hook);
	const __u32 peer_id = flow->endpoint_id[1 - own_side(hook)];
	const struct endpoint_entry *judge = own ? endpoint : bpf_map_lookup_elem(&endpoints, &peer_id);

	if (judge && judge->options & OPTION_DROP_NOTIFICATION)
		endpoint_notify(skb, judge, packet, flow, own ? hook : 1 - hook, EVENT_DROP, reason, 0);
	return action_drop_quietly(reason) | (own ? 0 : ACTION_PEER);
}

/* Notifies a drop with known identities; endpoint_conclude() counts it. */
static __always_inline int endpoint_drop(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					 const struct packet *packet, const struct flow *flow,
					 enum metrics_direction hook, enum drop_reason reason)
{
	return endpoint_drop_by(skb, endpoint, packet, flow, hook, reason, own_side(hook));
}

static __always_inline void endpoint_trace(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					   const struct packet *packet, const struct flow *flow,
					   enum metrics_direction hook, enum conntrack_change change)
{
	if (ENDPOINT_OPTION(TRACE_NOTIFICATION) && (__u32)change >= endpoint->aggregation)
		endpoint_notify(skb, endpoint, packet, flow, hook, EVENT_TRACE, DROP_NONE, 0);
}

#endif
