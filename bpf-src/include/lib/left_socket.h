/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Sockets that are connected to a backend which the programs at sockets gave them, and which has gone since. */
#ifndef AGENT_LIB_LEFT_SOCKET_H
#define AGENT_LIB_LEFT_SOCKET_H

#include "lib/ip.h"
#include "lib/kernel_types.h"
#include "lib/socket_peer.h"

/* Returns false where the socket is not connected. */
static __always_inline bool socket_peer_end(const struct sock_common *socket, struct end *end)
{
	end->port_be = socket->skc_dport;
	if (socket->skc_family == KERNEL_FAMILY_IPV4) {
		end->address[0] = 0;
		end->address[1] = 0;
		end->address[2] = END_MAPPED;
		end->address[3] = socket->skc_daddr;
	} else {
		end->address[0] = socket->skc_v6_daddr.in6_u.u6_addr32[0];
		end->address[1] = socket->skc_v6_daddr.in6_u.u6_addr32[1];
		end->address[2] = socket->skc_v6_daddr.in6_u.u6_addr32[2];
		end->address[3] = socket->skc_v6_daddr.in6_u.u6_addr32[3];
	}
	return end->port_be != 0;
}

/* The backend that a socket has lost, as a service knew it. */
struct left_peer {
	struct end frontend;
	bool is_served; /* the service has another backend */
};

/*
 * Returns whether the backend has gone. It has not where the service has it still, be it by another id; and the socket
 * keeps a peer that its process chose itself.
 */
static __always_inline bool has_left_peer(const struct sock_common *socket, const struct socket_peers *peers,
					  __u8 protocol, struct left_peer *left)
{
	const struct socket_peer *peer = &peers->peers[0];
	const struct service_entry *service;
	struct end backend;

	if (!peers->is_connected || !socket_peer_end(socket, &backend) ||
	    !is_end(peer->backend_address, peer->backend_port_be, &backend))
		return false;
	if (backend_keeps_flows(peer->service_id, peer))
		return false;
	copy_address(left->frontend.address, peer->frontend_address);
	left->frontend.port_be = peer->frontend_port_be;
	service = service_of(&left->frontend, protocol, SERVICE_INSIDE);
	left->is_served = service && service->slots;
	return !service || !backend_keeps_flows(service->service_id, peer);
}

#endif
