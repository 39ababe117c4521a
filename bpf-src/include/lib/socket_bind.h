/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Ports that services have on the node for clients outside. A process of the node that listened on one would never get
 * what such clients send, so that it is refused the port, unless it is a backend that serves there itself.
 */
#ifndef AGENT_LIB_SOCKET_BIND_H
#define AGENT_LIB_SOCKET_BIND_H

#include <bpf/bpf_core_read.h>

#include "config/socket_config.h"
#include "lib/kernel_types.h"
#include "lib/socket_peer.h"

struct bound_end {
	struct end end;
	__u32 outside_id; /* of the service, whose own clients may have other backends */
	bool is_backend;
};

static __always_inline bool end_is_unspecified(const struct end *end)
{
	return !end->address[3] && (end_is_mapped(end) || !(end->address[0] | end->address[1] | end->address[2]));
}

/* Notes whether the socket would be the backend: at its address, or at one of those of the node for all of them. */
static long compare_backend(void *map, const struct service_backend_key *key, const void *state,
			    struct bound_end *bound)
{
	struct end backend = { .port_be = key->port_be };

	(void)map;
	(void)state;
	copy_address(backend.address, key->address);
	if ((key->service_id | SERVICE_OUTSIDE_ID) != bound->outside_id || backend.port_be != bound->end.port_be)
		return 0;
	if (end_is_unspecified(&bound->end))
		bound->is_backend = end_is_mapped(&backend) == end_is_mapped(&bound->end) && end_is_nodes(&backend);
	else
		bound->is_backend = is_end(key->address, key->port_be, &bound->end);
	return bound->is_backend; /* 1 ends the walk */
}

/* Returns whether a service takes what comes for the address and port from outside. */
static __always_inline bool is_taken(const struct end *end, __u8 protocol)
{
	const struct service_entry *service = service_of(end, protocol, SERVICE_OUTSIDE);
	struct bound_end bound = { .end = *end };

	if (!service)
		return false;
	bound.outside_id = service->service_id | SERVICE_OUTSIDE_ID;
	bpf_for_each_map_elem(&service_backends, compare_backend, &bound, 0);
	return !bound.is_backend;
}

/* Returns whether a socket of IPv6 takes no packets of IPv4 (IPV6_V6ONLY). */
static __always_inline bool is_ipv6_only(struct bpf_sock *socket)
{
	const struct sock_common *tcp = (void *)bpf_skc_to_tcp6_sock(socket);
	const struct sock_common *udp;

	if (tcp)
		return BPF_CORE_READ_BITFIELD(tcp, skc_ipv6only);
	udp = (void *)bpf_skc_to_udp6_sock(socket);
	return udp && BPF_CORE_READ_BITFIELD(udp, skc_ipv6only);
}

/* Workloads have addresses of their own, and the kernel chooses among all ports for a socket that asks for any. */
static __always_inline bool asks_for_port_of_node(struct bpf_sock_addr *context)
{
	return context->user_port && service_gate_is_open() &&
	       bpf_get_netns_cookie(context) == socket_config.namespace_cookie;
}

#endif
