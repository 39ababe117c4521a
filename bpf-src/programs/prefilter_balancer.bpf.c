// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The XDP program of a device with both the prefilter and the load balancer, which gets what the prefilter passes. */
#include "lib/balancer.h"
#include "lib/prefilter.h"

char _license[] SEC("license") = "Dual BSD/GPL";

SEC("xdp.frags")
int prefilter_balancer(struct xdp_md *context)
{
	const int action = prefilter_judge(context);

	return likely(action == XDP_PASS) ? balance(context) : action;
}
