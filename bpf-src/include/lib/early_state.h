/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The states of fragments that wait (maps/early_fragment_map.h), which programs on all CPUs change. */
#ifndef AGENT_LIB_EARLY_STATE_H
#define AGENT_LIB_EARLY_STATE_H

#include "lib/metrics.h"
#include "maps/early_fragment_map.h"

#define EARLY_FRAGMENT_WAIT_NS NS_PER_SECOND

/* Returns whether the caller owns the fields now. */
static __always_inline bool early_take(struct early_fragment *fragment, __u32 state)
{
	return __sync_val_compare_and_swap(&fragment->state, state, EARLY_BUSY) == state;
}

static __always_inline void early_give(struct early_fragment *fragment, __u32 state)
{
	__sync_lock_test_and_set(&fragment->state, state);
}

/* Counts one whose first fragment has not come. */
static __always_inline void early_count(const struct early_fragment *fragment)
{
	if (!fragment->copied)
		metrics_count(fragment->direction, DROP_FRAGMENT_NOT_FOUND, fragment->length);
}

/* now: of any CPU, so that it may be a moment before the fragment came. */
static __always_inline bool early_is_over(const struct early_fragment *fragment, __u64 now)
{
	return now > READ_ONCE(fragment->since_ns) + EARLY_FRAGMENT_WAIT_NS;
}

#endif
