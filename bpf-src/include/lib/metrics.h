/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Counts packets and bytes by direction and drop reason. The map is per CPU, so that no atomic additions are required.
 */
#ifndef AGENT_LIB_METRICS_H
#define AGENT_LIB_METRICS_H

#include "lib/compiler.h"
#include "lib/drop_reason.h"
#include "maps/metrics_map.h"

static __always_inline void metrics_count(enum metrics_direction direction, enum drop_reason reason, __u32 bytes)
{
	const __u32 index = direction << METRICS_REASON_BITS | reason;
	struct metrics_entry *entry = bpf_map_lookup_elem(&metrics, &index);

	if (likely(entry)) {
		entry->packets++;
		entry->bytes += bytes;
	}
}

#endif
