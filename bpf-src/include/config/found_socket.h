/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What socket_find (SEC("iter/task_file")) writes of each socket whose backend has gone. */
#ifndef AGENT_CONFIG_FOUND_SOCKET_H
#define AGENT_CONFIG_FOUND_SOCKET_H

#include <linux/types.h>

enum found_socket_flag {
	FOUND_SOCKET_IPV6 = 1,   /* of AF_INET6; its peer may be an IPv4 address all the same */
	FOUND_SOCKET_SERVED = 2, /* the service has a backend for it */
};

struct found_socket {
	__u8 frontend_address[16];
	__u8 backend_address[16]; /* what it is connected to */
	__u64 cookie;             /* SO_COOKIE of the socket */
	__u32 process;            /* that has it open, as the initial pid namespace counts */
	__u32 descriptor;         /* of that process */
	__u32 net_inode;          /* of the network namespace of the socket */
	__be16 frontend_port_be;
	__be16 backend_port_be;
	__u32 protocol;
	__u32 flags; /* enum found_socket_flag */
};
_Static_assert(sizeof(struct found_socket) == 64, "found_socket");

#endif
