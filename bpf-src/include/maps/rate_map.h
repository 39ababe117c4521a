/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What an endpoint, or a network namespace, causes in a short time. */
#ifndef AGENT_MAPS_RATE_MAP_H
#define AGENT_MAPS_RATE_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum rate_size {
	NAMESPACE_RATES = 1024, /* a power of two */
};

/*
 * What an endpoint did in the present window of about a second. CPUs count without atomic operations: a lost count
 * lets one more pass.
 */
struct share_rate {
	__u32 window;
	__u32 count;
	__u64 exceeded; /* beyond the share of a window, since the endpoint id was first used */
};
_Static_assert(sizeof(struct share_rate) == 16, "share_rate");

struct endpoint_rates {
	struct share_rate events;
	struct share_rate fragments; /* first ones, which are stored */
};
_Static_assert(sizeof(struct endpoint_rates) == 32, "endpoint_rates");

/*
 * The same for the sockets of a network namespace, whose endpoint the programs do not know. Index: the lowest bits of
 * its cookie, which are counted, so that few namespaces of a node share an entry.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct endpoint_rates);
	__uint(max_entries, NAMESPACE_RATES);
	__uint(map_flags, BPF_F_MMAPABLE);
} namespace_rates SEC(".maps");

#endif
