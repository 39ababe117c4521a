/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Emits an event for each flow, and each peer of a socket, that is given a backend, and for each flow that is
 * masqueraded, while a subscriber wants them.
 */
#ifndef AGENT_LIB_TRANSLATION_EVENT_H
#define AGENT_LIB_TRANSLATION_EVENT_H

#include "lib/event_ring.h"
#include "lib/rate.h"
#include "maps/service_map.h"

static __always_inline bool translations_are_wanted(void)
{
	const __u32 index = 0;
	const __u32 *gate = bpf_map_lookup_elem(&event_gate, &index);

	return unlikely(gate && READ_ONCE(*gate) & EVENT_GATE_TRANSLATIONS);
}

/* Returns an event with what all have, to be filled and submitted; NULL where it is suppressed or lost. */
static __always_inline struct translation_event *translation_event_begin(struct endpoint_rates *rates,
									 enum translation_place place, __u32 service_id,
									 __u8 protocol)
{
	struct translation_event *event;

	if (rates_suppress_event(rates))
		return NULL;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		event_count_lost();
		return NULL;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->timestamp_ns = bpf_ktime_get_ns();
	event->type = EVENT_TRANSLATION;
	event->place = place;
	event->protocol = protocol;
	event->service_id = service_id & ~SERVICE_OUTSIDE_ID;
	return event;
}

#endif
