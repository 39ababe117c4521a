/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Packets and bytes by direction and drop reason; reason 0 counts forwarded packets. */
#ifndef AGENT_MAPS_METRICS_MAP_H
#define AGENT_MAPS_METRICS_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum metrics_direction {
	METRICS_INGRESS = 0, /* to_endpoint: from the stack to an endpoint */
	METRICS_EGRESS = 1,  /* from_endpoint, including local delivery */
	METRICS_NETWORK = 2, /* from the network device: host program and prefilter */
};

/* Index: direction << METRICS_REASON_BITS | drop reason. */
enum metrics_layout {
	METRICS_REASON_BITS = 8, /* of an index, its lowest */
	METRICS_DIRECTIONS = 3,  /* number of values of enum metrics_direction */
};

struct metrics_entry {
	__u64 packets;
	__u64 bytes;
};
_Static_assert(sizeof(struct metrics_entry) == 16, "metrics_entry");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct metrics_entry);
	__uint(max_entries, METRICS_DIRECTIONS << METRICS_REASON_BITS);
} metrics SEC(".maps");

#endif
