/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Shares of what an endpoint, or a network namespace, may cause in a second. */
#ifndef AGENT_LIB_RATE_H
#define AGENT_LIB_RATE_H

#include "config/node_config.h"
#include "lib/clock.h"
#include "lib/compiler.h"
#include "maps/rate_map.h"

/* Counts one more; returns whether it is beyond the share of the present window, which is 2^30 ns long. */
static __always_inline bool rate_exceeds(struct share_rate *rate, __u32 share)
{
	const __u32 window = (__u32)(now_ns() >> 30);

	if (rate->window != window) {
		rate->window = window;
		rate->count = 0;
	}
	if (rate->count < share) {
		rate->count++;
		return false;
	}
	rate->exceeded++;
	return true;
}

/* Returns whether who has these rates may not cause another event in this second. */
static __always_inline bool rates_suppress_event(struct endpoint_rates *rates)
{
	return rates && node_config.events_per_second && rate_exceeds(&rates->events, node_config.events_per_second);
}

#endif
