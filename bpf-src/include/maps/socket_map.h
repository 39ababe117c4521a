/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What a socket must know to be shown the service as its peer. */
#ifndef AGENT_MAPS_SOCKET_MAP_H
#define AGENT_MAPS_SOCKET_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define SOCKET_PEERS 4 /* a power of two */

struct socket_peer {
	__u8 frontend_address[16];
	__u8 backend_address[16];
	__be16 frontend_port_be;
	__be16 backend_port_be;
	__u32 service_id; /* 0: unused */
};

/*
 * The services that a socket talks to. A datagram socket that has more of them forgets the oldest, but not the one that
 * it is connected to.
 */
struct socket_peers {
	struct socket_peer peers[SOCKET_PEERS];
	__u32 next;
	__u32 is_connected; /* the first is what the socket was connected to; 0 by former releases */
};

/*
 * Lives and ends with the socket. Only the programs read and write it; the kernel offers no walk, and wants a map of
 * this type to be created with BTF, so that libbpf creates it with the programs.
 */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__type(key, int);
	__type(value, struct socket_peers);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} socket_peers SEC(".maps");

#endif
