/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How many messages that refuse a packet its senders got in a short time. */
#ifndef AGENT_MAPS_REJECT_MAP_H
#define AGENT_MAPS_REJECT_MAP_H

#include "maps/rate_map.h"

enum reject_size {
	REJECT_RATES = 1024, /* of each half; a power of two */
};

/*
 * Index: the lowest bits of the id of an endpoint, or, in the upper half, a hash of an address outside. Who shares an
 * entry shares what it lets pass.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct share_rate);
	__uint(max_entries, 2 * REJECT_RATES);
} reject_rates SEC(".maps");

#endif
