/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The proxies of the agent that flows are sent to, and the sockets by which these go on (lib/redirect.h). */
#ifndef AGENT_MAPS_REDIRECT_MAP_H
#define AGENT_MAPS_REDIRECT_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "maps/endpoint_map.h"
#include "maps/rate_map.h"

enum redirect_size {
	REDIRECT_KINDS = 4, /* more than enum redirect_kind has */
	REDIRECT_PORTS = 8, /* ports of a proxy, one after the other */
	REDIRECT_SOCKETS_MAX = 65536,
	REDIRECT_DATAGRAMS = 4000, /* of one endpoint in a second, and of all clients outside together */
};

/* The first port of each proxy, by enum redirect_kind; 0: there is no proxy. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, REDIRECT_KINDS);
} redirect_proxies SEC(".maps");

/* A socket of a proxy, which is bound to the address of the node for proxies and to this port. */
struct redirect_socket_key {
	__be16 port_be;
	__u8 protocol;
	__u8 family; /* enum address_family of lib/packet.h */
};
_Static_assert(sizeof(struct redirect_socket_key) == 4, "redirect_socket_key");

/* The flow that the socket continues; an IPv4 address is in the first four bytes. */
struct redirect_socket {
	__u8 client[16];
	__u8 server[16];
	__be16 client_port_be;
	__be16 server_port_be;
};
_Static_assert(sizeof(struct redirect_socket) == 36, "redirect_socket");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct redirect_socket_key);
	__type(value, struct redirect_socket);
	__uint(max_entries, REDIRECT_SOCKETS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} redirect_sockets SEC(".maps");

/* The datagrams that each endpoint has sent to proxies in the present second; index 0: clients outside. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct share_rate);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} redirect_rates SEC(".maps");

#endif
