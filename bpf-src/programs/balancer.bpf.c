// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The XDP program of the device of --lb: balances services, with encapsulation and direct return. */
#include "lib/balancer.h"

char _license[] SEC("license") = "Dual BSD/GPL";

SEC("xdp.frags")
int balancer(struct xdp_md *context)
{
	return balance(context);
}
