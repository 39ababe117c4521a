/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What each endpoint uses of what all of them share: conntrack entries, stored fragments, events. */
#ifndef AGENT_MAPS_FLOW_USAGE_MAP_H
#define AGENT_MAPS_FLOW_USAGE_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "maps/conntrack_map.h"
#include "maps/endpoint_map.h"
#include "maps/rate_map.h"

/* The tables in which flows are counted: those of enum conntrack_table before the overflow. */
#define FLOW_USAGE_TABLES 4

/*
 * The entries that the flows of one endpoint have in each table: opened - credit, which wraps. A flow belongs to the
 * endpoint that opened it, or else to the one to which the outside did. Index 0, which is no endpoint's, counts those
 * of the node.
 *
 * The programs only add to opened, and the kernel reports no entry that goes. So each sweep counts anew: its program
 * adds the entries that it leaves to counted, and the agent then sets credit to what was opened before the sweep less
 * what was counted. A flow that is opened during the sweep may count twice until the next one.
 */
struct flow_usage {
	__u32 opened[FLOW_USAGE_TABLES];
	__u32 credit[FLOW_USAGE_TABLES];
	__u32 counted[FLOW_USAGE_TABLES];
	__u64 overflowed; /* flows that were put into a table of the overflow */
	__u64 emptied;    /* index 0: overflowed when the tables of the overflow were last seen empty */
};
_Static_assert(sizeof(struct flow_usage) == 64, "flow_usage");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct flow_usage);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} flow_usage SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct endpoint_rates);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} endpoint_rates SEC(".maps");

#endif
