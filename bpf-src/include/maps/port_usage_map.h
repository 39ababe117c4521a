/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What each endpoint lacks of the ports that masqueraded flows to one destination share (lib/masquerade.h). */
#ifndef AGENT_MAPS_PORT_USAGE_MAP_H
#define AGENT_MAPS_PORT_USAGE_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "maps/endpoint_map.h"

/* Index 0 counts those of the node. */
struct port_usage {
	__u64 replaced; /* half-open flows whose port a later flow of the same endpoint has got */
	__u64 refused;  /* flows for which no port was free */
};
_Static_assert(sizeof(struct port_usage) == 16, "port_usage");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct port_usage);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} port_usage SEC(".maps");

#endif
