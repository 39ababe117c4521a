/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Packets and bytes by hook and drop reason. A program owns its CPU's slot, so plain additions do. */
#ifndef AGENT_LIB_METRICS_H
#define AGENT_LIB_METRICS_H

#include "lib/compiler.h"
#include "lib/drop_reason.h"
#include "maps/metrics_map.h"

static __always_inline void metrics_count(enum metrics_direction direction, enum drop_reason reason, __u32 bytes)
{
	const __u32 index = direction << 8 | reason;
	struct metrics_entry *entry = bpf_map_lookup_elem(&metrics, &index);

	if (likely(entry)) {
		entry->packets++;
		entry->bytes += bytes;
	}
}

#endif
