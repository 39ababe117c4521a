/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The ring of events, for all programs. */
#ifndef AGENT_LIB_EVENT_RING_H
#define AGENT_LIB_EVENT_RING_H

#include "maps/event_map.h"

/* Counts an event for which the ring has no room. */
static __always_inline void event_count_lost(void)
{
	const __u32 index = 0;
	__u64 *lost = bpf_map_lookup_elem(&events_lost, &index);

	if (lost)
		(*lost)++;
}

#endif
