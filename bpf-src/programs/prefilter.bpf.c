// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The XDP program: drops packets from listed source prefixes before the stack allocates an skb. */
#include "lib/prefilter.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* With frags, drivers also take it at an MTU above a page; the headers that it reads are in the first part. */
SEC("xdp.frags")
int prefilter(struct xdp_md *context)
{
	return prefilter_judge(context);
}
