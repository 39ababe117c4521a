/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Says of a packet that leaves by a device that an endpoint program has sent it there, as its receiver knows it, so that
 * to_network has nothing to look up. The mark is in tc_index of linux/bpf.h, which no queueing discipline of the kernel
 * reads any more, and which passes with the packet from one namespace to another.
 */
#ifndef AGENT_LIB_COMPLETION_H
#define AGENT_LIB_COMPLETION_H

#include <linux/bpf.h>

#include "lib/compiler.h"

#define PACKET_COMPLETE 0xa6e7

/* Forgets what a workload has written, which would leave with its own address. */
static __always_inline void packet_set_incomplete(struct __sk_buff *skb)
{
	skb->tc_index = 0;
}

static __always_inline void packet_set_complete(struct __sk_buff *skb)
{
	skb->tc_index = PACKET_COMPLETE;
}

static __always_inline bool packet_is_complete(const struct __sk_buff *skb)
{
	return skb->tc_index == PACKET_COMPLETE;
}

#endif
