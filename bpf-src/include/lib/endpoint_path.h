/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The fast path of packets from and to an endpoint, after their headers are parsed. */
#ifndef AGENT_LIB_ENDPOINT_PATH_H
#define AGENT_LIB_ENDPOINT_PATH_H

#include "config/endpoint_config.h"
#include "lib/delivery.h"
#include "lib/event.h"
#include "lib/flow.h"
#include "lib/icmp_error.h"
#include "lib/metrics.h"
#include "lib/nd.h"

#define ENDPOINT_OPTION(name) (endpoint_config.options & OPTION_##name)

/* The flow has no valid verdict: the slow path evaluates policy. */
#define FOLLOW_NO_VERDICT -2

static __always_inline enum packet_side own_side(enum metrics_direction hook)
{
	return hook == METRICS_EGRESS ? PACKET_SOURCE : PACKET_DESTINATION;
}

static __always_inline enum conntrack_side side_of_source(enum conntrack_side source_side, enum packet_side side)
{
	return side == PACKET_SOURCE ? source_side : 1 - source_side;
}

/* Returns whether the verdict of the entry is valid and has this endpoint as its own side. */
static __always_inline bool endpoint_verdict_holds(const struct conntrack_entry *entry, enum conntrack_side source_side,
						   enum metrics_direction hook, __u8 protocol, __u8 tcp_flags,
						   __u64 now)
{
	const enum conntrack_side own = side_of_source(source_side, own_side(hook));

	return likely(entry->endpoint_id[own] == endpoint_config.endpoint_id && conntrack_is_current(entry) &&
		      !conntrack_is_expired(entry, now) &&
		      !conntrack_is_reopened(entry->flags, source_side, protocol, tcp_flags));
}

static __always_inline int endpoint_forward(struct __sk_buff *skb, __u8 family, enum metrics_direction hook,
					    __u32 ifindex, const void *macs)
{
	metrics_count(hook, DROP_NONE, skb->len);
	if (hook != METRICS_EGRESS || !ifindex)
		return ACTION_PASS;
	if ((void *)(long)skb->data + ETH_ALEN > (void *)(long)skb->data_end ||
	    !mac_equals((void *)(long)skb->data, endpoint_config.host_mac))
		return ACTION_PASS; /* not addressed to the gateway: the stack ignores it */
	return deliver_to_workload(skb, family, ifindex, macs);
}

/* The complete path of a packet of an established flow. */
static __always_inline int endpoint_follow(struct __sk_buff *skb, struct conntrack_entry *entry,
					   enum conntrack_side source_side, __u8 family, __u8 protocol, __u8 tcp_flags,
					   enum metrics_direction hook)
{
	const struct conntrack_delivery *delivery = &entry->delivery[1 - source_side];
	const __u64 now = now_ns();

	if (!endpoint_verdict_holds(entry, source_side, hook, protocol, tcp_flags, now) ||
	    unlikely(entry->flags & CONNTRACK_DENIED))
		return FOLLOW_NO_VERDICT;
	if (unlikely(!conntrack_rests(entry, source_side, protocol, tcp_flags, now)))
		conntrack_advance(entry, source_side, protocol, tcp_flags, now);
	if (ENDPOINT_OPTION(CONNTRACK_ACCOUNTING))
		conntrack_account(entry, source_side, skb->len);
	return endpoint_forward(skb, family, hook, delivery->ifindex, delivery->destination_mac);
}

static __always_inline void endpoint_notify(struct __sk_buff *skb, const struct packet *packet, const struct flow *flow,
					    enum metrics_direction hook, enum event_type type, enum drop_reason reason,
					    __u8 policy_flags)
{
	const struct event_spec spec = {
		.type = type,
		.reason = reason,
		.direction = hook,
		.policy_flags = policy_flags,
		.endpoint_id = endpoint_config.endpoint_id,
	};

	event_emit(skb, packet, flow, &spec);
}

/* Notifies a drop with known identities; endpoint_conclude() counts it. */
static __always_inline int endpoint_drop(struct __sk_buff *skb, const struct packet *packet, const struct flow *flow,
					 enum metrics_direction hook, enum drop_reason reason)
{
	if (ENDPOINT_OPTION(DROP_NOTIFICATION))
		endpoint_notify(skb, packet, flow, hook, EVENT_DROP, reason, 0);
	return action_drop_quietly(reason);
}

static __always_inline void endpoint_trace(struct __sk_buff *skb, const struct packet *packet, const struct flow *flow,
					   enum metrics_direction hook, enum conntrack_change change)
{
	if (ENDPOINT_OPTION(TRACE_NOTIFICATION) && (__u32)change >= endpoint_config.aggregation)
		endpoint_notify(skb, packet, flow, hook, EVENT_TRACE, DROP_NONE, 0);
}

#endif
