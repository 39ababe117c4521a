/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Which services a socket has been given backends of. */
#ifndef AGENT_LIB_SOCKET_PEER_H
#define AGENT_LIB_SOCKET_PEER_H

#include "lib/service.h"
#include "maps/socket_map.h"

static __always_inline bool is_end(const __u8 *address, __be16 port_be, const struct end *end)
{
	const __u32 *words = (const __u32 *)address;

	return port_be == (__be16)end->port_be && words[3] == end->address[3] && words[2] == end->address[2] &&
	       words[1] == end->address[1] && words[0] == end->address[0];
}

static __always_inline bool backend_keeps_flows(__u32 service_id, const struct socket_peer *peer)
{
	const __u32 state = service_backend_state(service_id, peer->backend_address, peer->backend_port_be);

	return state == BACKEND_ACTIVE || state == BACKEND_TERMINATING;
}

#endif
