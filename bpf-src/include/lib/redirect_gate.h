/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What comes to the proxies of the agent: a share of datagrams of each client, and only what is sent there (lib/redirect.h). */
#ifndef AGENT_LIB_REDIRECT_GATE_H
#define AGENT_LIB_REDIRECT_GATE_H

#include "lib/endpoint_service.h"
#include "lib/rate.h"
#include "maps/redirect_map.h"

/* Copies the address of this node that proxies listen on. */
static __always_inline void proxy_address(union address *address, __u8 family)
{
	const volatile __u32 *words = (const volatile __u32 *)node_config.gateway6;

	__builtin_memset(address, 0, sizeof(*address));
	if (family == FAMILY_IPV4) {
		address->v4 = *(const volatile __be32 *)node_config.gateway4;
		return;
	}
	unrolled
	for (int i = 0; i < 4; i++)
		address->words[i] = words[i];
}

/* Returns whether an address is the one that proxies listen on, and send from. */
static __always_inline bool address_is_of_proxy(const union address *address, __u8 family)
{
	const volatile __u32 *words = (const volatile __u32 *)node_config.gateway6;

	if (family == FAMILY_IPV4)
		return address->v4 == *(const volatile __be32 *)node_config.gateway4;
	return !((address->words[0] ^ words[0]) | (address->words[1] ^ words[1]) | (address->words[2] ^ words[2]) |
		 (address->words[3] ^ words[3]));
}

/*
 * Returns whether a client has sent its share of datagrams to proxies: these read them from a few sockets, whose memory
 * and time all clients share. A connection has a window of its own.
 */
__global int redirect_is_over_share(__u32 endpoint_id)
{
	struct share_rate *rate = bpf_map_lookup_elem(&redirect_rates, &endpoint_id);

	return rate && rate_exceeds(rate, REDIRECT_DATAGRAMS);
}

/* Returns the first port of a proxy, or 0: there is none. */
static __always_inline __u32 redirect_first_port(__u32 kind)
{
	const __u32 *first_port = bpf_map_lookup_elem(&redirect_proxies, &kind);

	return first_port ? *first_port : 0;
}

static __always_inline bool redirect_kind_has_port(__u32 kind, __u32 port)
{
	const __u32 first_port = redirect_first_port(kind);

	return first_port && port - first_port < REDIRECT_PORTS;
}

/* Returns whether a proxy listens on the port. */
static __always_inline bool redirect_has_port(__be16 port_be)
{
	const __u32 port = bpf_ntohs(port_be);

	return redirect_kind_has_port(REDIRECT_HTTP, port) || redirect_kind_has_port(REDIRECT_DNS, port);
}

/* Returns whether the packet is to a proxy itself, where only the programs send packets. */
__global int redirect_is_addressed(const struct packet *packet)
{
	if (!packet || (packet->protocol != IPPROTO_TCP && packet->protocol != IPPROTO_UDP) ||
	    likely(!redirect_has_port(packet->destination_port_be)))
		return false;
	return address_is_of_proxy(&packet->destination, packet->family);
}

/* Returns the drop reason of a new flow of a workload: that of policy, or that it is to a proxy itself. */
static __always_inline int redirect_judge_new(const struct packet *packet, const struct flow *flow,
					      enum metrics_direction hook, int reason)
{
	return !reason && hook == METRICS_EGRESS && flow->entry_flags & CONNTRACK_TO_NODE &&
			       redirect_is_addressed(packet)
		       ? DROP_NOT_REDIRECTED
		       : reason;
}

#endif
