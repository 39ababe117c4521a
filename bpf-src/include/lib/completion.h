/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Says of a packet that leaves by a device that an endpoint program has sent it there, as its receiver knows it, so that
 * to_network has nothing to look up. The mark is in tc_index of linux/bpf.h, which passes with the packet from one
 * namespace to another; it ends at the device, before the queue, whose discipline may read it.
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

/* Returns whether the packet is complete, and takes its mark. */
static __always_inline bool packet_take_complete(struct __sk_buff *skb)
{
	if (skb->tc_index != PACKET_COMPLETE)
		return false;
	skb->tc_index = 0;
	return true;
}

#endif
