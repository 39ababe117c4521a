/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Shares of endpoints in what all of them use: conntrack tables, stored fragments, and events. */
#ifndef AGENT_LIB_FLOW_USAGE_H
#define AGENT_LIB_FLOW_USAGE_H

#include "config/node_config.h"
#include "lib/clock.h"
#include "lib/packet.h"
#include "lib/rate.h"
#include "maps/flow_usage_map.h"

/* Returns the number of the table of a packet's flow: enum conntrack_table. */
static __always_inline __u32 flow_table(const struct packet *packet)
{
	return (packet->family == FAMILY_IPV4 ? CONNTRACK_TABLE_TCP4 : CONNTRACK_TABLE_TCP6) +
	       (packet->protocol == IPPROTO_TCP ? 0 : 1);
}

static __always_inline struct flow_usage *flow_usage_of(__u32 endpoint_id)
{
	return bpf_map_lookup_elem(&flow_usage, &endpoint_id);
}

static __always_inline __u32 flow_usage_entries(const struct flow_usage *usage, __u32 table)
{
	return READ_ONCE(usage->opened[table % FLOW_USAGE_TABLES]) -
	       READ_ONCE(usage->credit[table % FLOW_USAGE_TABLES]);
}

/*
 * Returns whether an endpoint has its share of a table. The share is a part of the entries that are free, so that it
 * gets smaller as others take theirs, and any number of endpoints leaves some free (dynamic thresholds: Choudhury and
 * Hahne, 1998). So the kernel never evicts an entry from the table, however many flows are opened.
 */
static __always_inline bool flow_usage_is_exhausted(const struct flow_usage *node, const struct flow_usage *own,
						    __u32 table)
{
	const bool tcp = table == CONNTRACK_TABLE_TCP4 || table == CONNTRACK_TABLE_TCP6;
	const __u32 capacity = tcp ? node_config.tcp_capacity : node_config.any_capacity;
	const __u32 used = flow_usage_entries(node, table);
	const __u32 free = used < capacity ? capacity - used : 0;

	return (__u64)flow_usage_entries(own, table) * 100 >= (__u64)free * node_config.flow_share_percent;
}

/* Counts a new flow of an endpoint; returns whether its entry belongs into the overflow. */
__global int flow_usage_open(__u32 endpoint_id, __u32 table)
{
	struct flow_usage *node = flow_usage_of(0);
	struct flow_usage *own = flow_usage_of(endpoint_id);

	if (!node || !own)
		return false;
	if (unlikely(flow_usage_is_exhausted(node, own, table))) {
		__sync_fetch_and_add(&own->overflowed, 1);
		__sync_fetch_and_add(&node->overflowed, 1);
		return true;
	}
	__sync_fetch_and_add(&own->opened[table % FLOW_USAGE_TABLES], 1);
	__sync_fetch_and_add(&node->opened[table % FLOW_USAGE_TABLES], 1);
	return false;
}

/* Returns whether the endpoint may not cause another event in this second. */
static __always_inline bool event_is_suppressed(__u32 endpoint_id)
{
	struct endpoint_rates *rates = bpf_map_lookup_elem(&endpoint_rates, &endpoint_id);

	return rates_suppress_event(rates);
}

/* Returns whether the endpoint has stored its share of first fragments in this second. */
static __always_inline bool fragment_is_over_share(__u32 endpoint_id)
{
	struct endpoint_rates *rates = bpf_map_lookup_elem(&endpoint_rates, &endpoint_id);

	return rates && rate_exceeds(&rates->fragments, node_config.fragments_per_second);
}

#endif
