/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Load-time constants of the programs at sockets, in .rodata. */
#ifndef AGENT_CONFIG_SOCKET_CONFIG_H
#define AGENT_CONFIG_SOCKET_CONFIG_H

#include <linux/types.h>

struct socket_config {
	__u64 namespace_cookie; /* network namespace of the node (SO_NETNS_COOKIE) */
};
_Static_assert(sizeof(struct socket_config) == 8, "socket_config");

const volatile struct socket_config socket_config;

#endif
