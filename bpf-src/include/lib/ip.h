/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What of IP no header of the kernel's API has in a form that programs can include: numbers, lookups of routes. */
#ifndef AGENT_LIB_IP_H
#define AGENT_LIB_IP_H

#include "lib/compiler.h"

/* Families in structs of the kernel; the programs' own are in lib/packet.h. */
#define KERNEL_FAMILY_IPV4 2  /* AF_INET */
#define KERNEL_FAMILY_IPV6 10 /* AF_INET6 */

#define IPV4_VERSION_AND_WORDS 0x45 /* a header without options */
#define IPV4_DONT_FRAGMENT 0x4000
#define IPV6_FLOW_LABEL 0xfffff
#define IP_LARGEST_BYTES 65535

#define OUTER_HOPS 64 /* of headers in which packets are encapsulated */

/* Sets the traffic class of a route lookup, which rules and routes may depend on. */
static __always_inline void route_set_class(struct bpf_fib_lookup *route, bool ipv4, __u32 traffic_class)
{
	if (ipv4)
		route->tos = traffic_class;
	else
		route->flowinfo = bpf_htonl((traffic_class & 0xff) << 20);
}

#endif
