/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The context of conntrack_sweep (SEC("syscall")): the parameters and the result of one sweep. */
#ifndef AGENT_CONFIG_CONNTRACK_SWEEP_H
#define AGENT_CONFIG_CONNTRACK_SWEEP_H

#include <linux/types.h>

struct conntrack_sweep {
	__u64 now_ns;  /* in: CLOCK_MONOTONIC; entries with expires_ns <= now_ns are deleted; 0: the program
			* reads the clock and writes the time here */
	__u64 visited; /* out: visited entries, including the deleted ones */
	__u64 deleted; /* out */
	__u32 table;   /* in: enum conntrack_table (maps/conntrack_map.h) */
	__u32 watches; /* in: 1: counts flows to watched addresses (maps/watched_address_map.h); else 0 */
};
_Static_assert(sizeof(struct conntrack_sweep) == 32, "conntrack_sweep");

#endif
