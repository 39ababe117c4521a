/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* CLOCK_MONOTONIC with a resolution of a few milliseconds, read with two loads. */
#ifndef AGENT_LIB_CLOCK_H
#define AGENT_LIB_CLOCK_H

#include "lib/compiler.h"

/*
 * The coarse clock changes only with the tick (jiffies), which the verifier inlines as a load, while the clock helper
 * costs half a conntrack lookup. So the last time is cached together with the low bits of its tick in one word, which
 * CPUs read and write without a lock. The tick bits repeat after 70 minutes at 1000 ticks per second.
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
