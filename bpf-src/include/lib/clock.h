/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* CLOCK_MONOTONIC to a few milliseconds, at the price of two loads. */
#ifndef AGENT_LIB_CLOCK_H
#define AGENT_LIB_CLOCK_H

#include "lib/compiler.h"

/*
 * The coarse clock moves only with the tick, which the verifier turns into a plain load, and asking for it costs as much
 * as half a conntrack lookup. So the last answer is kept with the low bits of the tick at which it was given, in one
 * word that CPUs read and write without a lock. The bits repeat after 70 minutes of 1000 ticks a second.
 */
#define CLOCK_TICK_MASK ((1ULL << 22) - 1)

static __u64 clock_word;

static __always_inline __u64 now_ns(void)
{
	const __u64 tick = bpf_jiffies64() & CLOCK_TICK_MASK;
	__u64 word = READ_ONCE(clock_word);

	if (unlikely((word & CLOCK_TICK_MASK) != tick)) {
		word = (bpf_ktime_get_coarse_ns() & ~CLOCK_TICK_MASK) | tick;
		WRITE_ONCE(clock_word, word);
	}
	return word & ~CLOCK_TICK_MASK;
}

#endif
