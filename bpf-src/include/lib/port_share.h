/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The ports of masqueraded flows, and the share of an endpoint in those to one destination. */
#ifndef AGENT_LIB_PORT_SHARE_H
#define AGENT_LIB_PORT_SHARE_H

#include "lib/endpoint_record.h"
#include "lib/service.h"
#include "maps/port_usage_map.h"

#define MASQUERADE_PORT_FIRST 1024
#define MASQUERADE_PORTS (65536 - MASQUERADE_PORT_FIRST)

/* Returns whether a flow may get another port: one whose header has it, and that has one itself. */
static __always_inline bool port_is_free(const struct packet *packet)
{
	return packet->source_port_be &&
	       (packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP || packet_is_icmp(packet));
}

static __always_inline __u64 packet_hash(const struct packet *packet)
{
	return tuple_hash(packet->source.halves, packet->destination.halves, packet->source_port_be,
			  packet->destination_port_be, packet->protocol);
}

/* Returns whether a packet comes from a port of those that the kernel takes for sockets of this node. */
static __always_inline bool port_is_of_sockets(const struct packet *packet)
{
	return (__u32)bpf_ntohs(packet->source_port_be) - node_config.socket_port_first < node_config.socket_ports &&
	       !packet_is_icmp(packet);
}

/* Returns how many ports the flows of one endpoint to a destination may have. */
static __always_inline __u32 port_share(__u32 endpoint_id)
{
	const __u32 shares = endpoint_id && node_config.port_shares ? node_config.port_shares : 1;

	return (MASQUERADE_PORTS - node_config.socket_ports) / shares;
}

/*
 * Returns the port of a number, of those that an endpoint may have. The ports that the kernel takes for sockets of this
 * node are never among them. The others are in rows of as many as there are shares, and an endpoint has one of each row,
 * which one by a hash: so two endpoints have few in common, whoever they are, and nothing has to be counted.
 */
__global int masquerade_port(__u32 number, __u32 endpoint_id)
{
	const __u32 shares = endpoint_id && node_config.port_shares ? node_config.port_shares : 1;
	const __u32 row = number % port_share(endpoint_id);
	const __u32 hash = ((row ^ endpoint_id << 16) * 0x5851f42d4c957f2dULL ^ endpoint_id) * 0x9e3779b97f4a7c15ULL >>
			   32;
	const __u32 port = MASQUERADE_PORT_FIRST + row * shares + hash % shares;

	return port < node_config.socket_port_first ? port : port + node_config.socket_ports;
}

/* Returns whether a flow of an endpoint may keep its port, which need not be one of its share: it has few flows. */
static __always_inline bool port_is_kept(const struct packet *packet, __u32 endpoint_id)
{
	const struct judge_scratch *memory = scratch();
	const struct flow_usage *usage = flow_usage_of(endpoint_id);

	if (port_is_of_sockets(packet))
		return false;
	if (!endpoint_id || !node_config.port_shares || !memory || !usage)
		return true;
	return !(memory->entry.flags & CONNTRACK_OVERFLOW) &&
	       flow_usage_entries(usage, flow_table(packet)) <= port_share(endpoint_id);
}

/* Returns a number of the sender of a packet, which has one port for all destinations where that is free. */
static __always_inline __u64 sender_hash(const struct packet *packet)
{
	return tuple_hash(packet->source.halves, packet->source.halves, packet->source_port_be, 0, packet->protocol);
}

/* Counts for an endpoint, and for the node, that a flow has got the port of another, or none. */
static __always_inline void port_usage_count(__u32 endpoint_id, bool refused)
{
	const __u32 node = 0;
	struct port_usage *own = bpf_map_lookup_elem(&port_usage, &endpoint_id);
	struct port_usage *all = bpf_map_lookup_elem(&port_usage, &node);

	if (!own || !all)
		return;
	__sync_fetch_and_add(refused ? &own->refused : &own->replaced, 1);
	if (endpoint_id)
		__sync_fetch_and_add(refused ? &all->refused : &all->replaced, 1);
}

#endif
