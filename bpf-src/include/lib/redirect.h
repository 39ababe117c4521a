/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Flows that policy sends to a proxy of the agent, which has plain sockets on an address of this node. A flow has up to
 * three entries, all with CONNTRACK_PROXIED:
 *
 * - That of the tuple that client and server use carries the verdict. It rewrites the destination of what the client
 *   sends, to the proxy, and the destination of what the server sends, to the socket of the proxy that the flow goes on
 *   by (its other end). It has no CONNTRACK_REWRITTEN, so that no other translation takes it for its own.
 * - That of the client and the proxy rewrites the source of what the proxy answers to that of the server.
 * - That of the proxy's socket and a server of this node rewrites the source of what the proxy sends to that of the
 *   client. The agent says in redirect_sockets which flow a socket continues; the first packet opens the entry.
 *
 * A client may use one port for flows to several servers, so a proxy has some ports, and each flow gets one on which
 * the client has no other. redirect_quickly() is the complete path of what workloads and proxies send in an
 * established flow, where it changes nothing in the entries; the rest takes the slow path.
 */
#ifndef AGENT_LIB_REDIRECT_H
#define AGENT_LIB_REDIRECT_H

#include "lib/endpoint_service.h"
#include "lib/redirect_gate.h"
#include "maps/redirect_map.h"

/* Returns whether the entry has the tuple that client and server use. */
static __always_inline bool entry_is_proxied(const struct conntrack_entry *entry)
{
	return (entry->flags & (CONNTRACK_PROXIED | CONNTRACK_REWRITTEN)) == CONNTRACK_PROXIED;
}

/* Returns whether the endpoints of an entry are those of when it was opened. */
static __always_inline bool entry_has_owners(const struct conntrack_entry *entry)
{
	return !((conntrack_generation(entry) ^ READ_ONCE(entry->generation)) >> GENERATION_OWNER_SHIFT);
}

/* Returns whether a socket of a proxy takes the packet; without one, the client is to send it again. */
__global int redirect_is_heard(struct __sk_buff *skb, const struct packet *shown)
{
	return shown && node_has_socket(skb, shown, &shown->source, &shown->destination, shown->source_port_be,
					shown->destination_port_be);
}

/* Returns whether the entry of client and proxy is free, or of a flow to the same server. */
static __always_inline bool redirect_may_take(const struct conntrack_entry *taken, const struct packet *packet,
					      __u64 now)
{
	return conntrack_is_expired(taken, now) || taken->flags & CONNTRACK_ENDED ||
	       (taken->flags & CONNTRACK_PROXIED &&
		end_is(&taken->end, &packet->destination, packet->destination_port_be));
}

/*
 * Returns whether a flow that passes no proxy may begin to with a packet of its client: it is no connection, or one whose
 * server has not answered.
 */
static __always_inline bool redirect_may_begin(const struct packet *packet, __u32 flags)
{
	return packet->protocol == IPPROTO_UDP ||
	       (tcp_is_opening(packet->tcp_flags) && !(flags & CONNTRACK_SEEN_REPLY));
}

/* Finds a port of the proxy for the flow, and has judge_scratch show the packet to it; returns a drop reason. */
__global int redirect_choose(struct __sk_buff *skb, const struct packet *packet, __u32 kind, __u64 now)
{
	const __u32 *first_port = bpf_map_lookup_elem(&redirect_proxies, &kind);
	struct judge_scratch *memory = scratch();
	struct packet *shown;
	bool found = false;

	if (!packet || !memory || !first_port || !*first_port)
		return DROP_NO_PROXY;
	shown = &memory->quoted;
	__builtin_memcpy(shown, packet, sizeof(*shown));
	proxy_address(&shown->destination, packet->family);
	unrolled
	for (__u32 i = 0; i < REDIRECT_PORTS; i++) {
		if (!found) {
			const struct conntrack_entry *taken;

			shown->destination_port_be = bpf_htons(*first_port + i);
			taken = conntrack_find(shown);
			found = !taken || redirect_may_take(taken, packet, now);
		}
	}
	if (!found)
		return DROP_PORTS_EXHAUSTED;
	return redirect_is_heard(skb, shown) ? DROP_NONE : DROP_NO_PROXY;
}

/*
 * Opens an entry of a flow: that of the client and the proxy, whose tuple judge_scratch shows, or with to_proxy that of
 * the client and the server; judge_scratch has it then. Returns a drop reason.
 */
__global int redirect_open_leg(const struct packet *packet, const struct judgement *judgement, __u32 to_proxy)
{
	struct judge_scratch *memory = scratch();
	const struct packet *shown;
	struct conntrack_entry *entry;
	enum conntrack_side side;

	if (!packet || !judgement || !memory)
		return DROP_CONNTRACK_FULL;
	entry = &memory->entry;
	shown = &memory->quoted;
	side = packet_conntrack_side(to_proxy ? packet : shown) & 1;
	entry_begin(packet, judgement, side, CONNTRACK_PROXIED | leg_overflow(judgement));
	if (!to_proxy) {
		entry_set_rewrite(entry, 1 - side, 0, &shown->destination, &packet->destination,
				  packet->destination_port_be);
		return leg_open(shown, entry);
	}
	entry_set_rewrite(entry, side, CONNTRACK_REWRITE_DESTINATION, &packet->destination, &shown->destination,
			  shown->destination_port_be);
	entry->flags &= ~CONNTRACK_REWRITTEN;
	return leg_open(packet, entry);
}

/*
 * Sends a flow that a packet of the client opens to the proxy that policy asks for, and the packet with it; returns a
 * drop reason. One in the middle of a connection has passed no proxy.
 */
__global int redirect_open(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement)
{
	const struct judge_scratch *memory = scratch();
	int reason;

	if (!packet || !judgement || !memory)
		return DROP_NO_PROXY;
	if (packet->kind != PACKET_FLOW || judgement->translated ||
	    (packet->protocol != IPPROTO_TCP && packet->protocol != IPPROTO_UDP) ||
	    (packet->protocol == IPPROTO_TCP && !tcp_is_opening(packet->tcp_flags)))
		return DROP_NO_PROXY;
	if (packet->protocol == IPPROTO_UDP && redirect_is_over_share(judgement->flow.endpoint_id[PACKET_SOURCE]))
		return DROP_PROXY_SHARE;
	reason = redirect_choose(skb, packet, judgement->flow.redirect, judgement->now);
	forget_range(reason);
	if (reason)
		return reason;
	judgement->overflow = endpoint_flow_overflows(packet, judgement); /* of both entries */
	reason = redirect_open_leg(packet, judgement, false);
	if (!reason)
		reason = redirect_open_leg(packet, judgement, true);
	if (!reason && packet_rewrite(skb, packet, &memory->entry))
		reason = DROP_MALFORMED;
	return reason;
}

/*
 * With a drop reason: the caller is to call translation_tell() with the end of the entry, or with its other end. The
 * functions here do not, since the call chain has no room for both.
 */
#define REDIRECT_TELLS 0x100
#define REDIRECT_TELLS_SOCKET 0x200

/*
 * Returns what refreshed_at of the entry of client and server is while the server's packets need not tell that of the
 * socket: for about a second after one of them did, unless another socket takes its place. It is 0 before.
 */
static __always_inline __u64 redirect_stamp(__u64 now)
{
	return 1 + (__u64)conntrack_time(now);
}

/*
 * Rewrites a packet of the server's; returns a drop reason with REDIRECT_TELLS_SOCKET. The connection of the client does
 * not end with that of the server.
 */
__global int redirect_follow_server(struct __sk_buff *skb, const struct packet *packet, struct conntrack_entry *entry,
				    __u64 now)
{
	struct segment segment;

	if (!packet || !entry || !entry->other.port_be) /* no socket of the proxy continues the flow yet */
		return DROP_NO_PROXY;
	if (packet_rewrite_with(skb, packet, entry, REWRITE_WITH_OTHER))
		return DROP_MALFORMED;
	segment = packet_segment(packet);
	segment.tcp_flags &= ~(TCP_FIN | TCP_RST);
	conntrack_advance(entry, packet_conntrack_side(packet) & 1, &segment, now);
	if (!packet->later_fragment)
		WRITE_ONCE(entry->refreshed_at, redirect_stamp(now));
	return REDIRECT_TELLS_SOCKET;
}

/*
 * Rewrites a packet of the client's; returns a drop reason, with REDIRECT_TELLS where it changed the entry. One whose
 * verdict was renewed is in judge_scratch, and has what the packet changes already.
 */
__global int redirect_follow_client(struct __sk_buff *skb, const struct packet *packet, struct conntrack_entry *entry,
				    __u64 now)
{
	const struct judge_scratch *memory = scratch();
	struct segment segment;
	bool tells;

	if (!packet || !entry || !memory)
		return DROP_NO_PROXY;
	if (packet->protocol == IPPROTO_UDP &&
	    redirect_is_over_share(conntrack_endpoint(entry, packet_conntrack_side(packet) & 1)))
		return DROP_PROXY_SHARE;
	if (packet_rewrite(skb, packet, entry))
		return DROP_MALFORMED;
	segment = packet_segment(packet);
	tells = conntrack_advance(entry, packet_conntrack_side(packet) & 1, &segment, now) != CONNTRACK_UNCHANGED ||
		entry == &memory->entry;
	return tells ? REDIRECT_TELLS : DROP_NONE;
}

/* Rewrites a packet of an established flow that a workload or a client outside sends; returns as those above. */
static __always_inline int redirect_follow(struct __sk_buff *skb, const struct packet *packet,
					   struct conntrack_entry *entry, __u64 now)
{
	if (!entry_is_proxied(entry))
		return DROP_NO_PROXY; /* sent to the socket of a proxy itself */
	return conntrack_is_initiator(entry->flags, packet_conntrack_side(packet))
		       ? redirect_follow_client(skb, packet, entry, now)
		       : redirect_follow_server(skb, packet, entry, now);
}

/*
 * Rewrites a packet that a proxy sends; returns a drop reason, with REDIRECT_TELLS. What it answers tells the entry of
 * the flow; what it sends to the server does not, since the connection of the client does not end with it.
 */
__global int redirect_deliver(struct __sk_buff *skb, const struct packet *packet, struct conntrack_entry *entry,
			      __u64 now)
{
	struct segment segment;
	bool tells;
	__u32 side;

	if (!packet || !entry)
		return DROP_NO_PROXY;
	side = packet_conntrack_side(packet) & 1;
	if (receiving_ifindex(skb) || !rewrite_applies(entry, side) || !entry_has_owners(entry))
		return DROP_NO_PROXY;
	segment = packet_segment(packet);
	tells = conntrack_advance(entry, side, &segment, now) != CONNTRACK_UNCHANGED &&
		!conntrack_is_initiator(entry->flags, side);
	if (packet_rewrite(skb, packet, entry))
		return DROP_MALFORMED;
	return tells ? REDIRECT_TELLS : DROP_NONE;
}

/* Sets judge_scratch to the packet of a proxy's socket as one of the client; returns whether there is one. */
__global int redirect_show_client(const struct packet *packet)
{
	const struct redirect_socket *socket;
	struct judge_scratch *memory = scratch();
	struct redirect_socket_key key = {};
	union address address;
	struct packet *shown;

	if (!packet || !memory)
		return false;
	key.port_be = packet->source_port_be;
	key.protocol = packet->protocol;
	key.family = packet->family;
	socket = bpf_map_lookup_elem(&redirect_sockets, &key);
	if (!socket || socket->server_port_be != packet->destination_port_be)
		return false;
	__builtin_memcpy(&address, socket->server, sizeof(address));
	if (!address_equals(&address, &packet->destination))
		return false;
	shown = &memory->quoted;
	__builtin_memcpy(shown, packet, sizeof(*shown));
	__builtin_memcpy(&shown->source, socket->client, sizeof(shown->source));
	shown->source_port_be = socket->client_port_be;
	return true;
}

/* Copies the entry of the flow that judge_scratch shows; returns whether it goes on to this endpoint. */
__global int redirect_find_flow(__u32 endpoint_id, __u64 now)
{
	struct judge_scratch *memory = scratch();
	const struct conntrack_entry *flow;
	__u32 side;

	if (!memory)
		return false;
	flow = conntrack_find(&memory->quoted);
	side = packet_conntrack_side(&memory->quoted) & 1;
	if (!flow || !entry_is_proxied(flow) || flow->flags & CONNTRACK_DENIED || conntrack_is_expired(flow, now) ||
	    !conntrack_is_initiator(flow->flags, side) || conntrack_endpoint(flow, 1 - side) != endpoint_id ||
	    !entry_has_owners(flow))
		return false;
	__builtin_memcpy(&memory->entry, flow, sizeof(memory->entry));
	return true;
}

/* Directs the server's replies of the flow, whose entry is copied, to a socket of the proxy; returns a drop reason. */
__global int redirect_set_socket(const struct packet *packet)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;

	if (!packet || !memory)
		return DROP_NO_PROXY;
	entry = &memory->entry;
	conntrack_set_end(&entry->other, &memory->quoted.source, &packet->source, packet->source_port_be);
	entry->refreshed_at = 0;
	return leg_open(&memory->quoted, entry);
}

/* Opens the entry of the socket and the server from that of the flow, which judge_scratch has; returns a drop reason. */
__global int redirect_open_socket(const struct packet *packet, __u64 now)
{
	const __u32 kept = CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH | CONNTRACK_OVERFLOW | CONNTRACK_PROXIED;
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	enum conntrack_side side;

	if (!packet || !memory)
		return DROP_CONNTRACK_FULL;
	entry = &memory->entry;
	side = packet_conntrack_side(packet) & 1;
	if (side != (packet_conntrack_side(&memory->quoted) & 1))
		entry_swap_sides(entry);
	entry->flags = (entry->flags & kept) | (side == CONNTRACK_HIGH ? CONNTRACK_INITIATOR_HIGH : 0) |
		       conntrack_flags_of(true, side, packet->protocol, packet->tcp_flags);
	__builtin_memset(entry->packets, 0, sizeof(entry->packets));
	__builtin_memset(entry->bytes, 0, sizeof(entry->bytes));
	entry->expires_ns = now + conntrack_lifetime_ns(entry->flags, packet->protocol);
	entry_set_rewrite(entry, side, 0, &packet->source, &memory->quoted.source, memory->quoted.source_port_be);
	return leg_open(packet, entry);
}

#define REDIRECT_UNKNOWN -1 /* in the place of a drop reason: the packet is of no proxy, or of no client of one */

/*
 * Sets the client's source in the first packet that a proxy's socket sends to an endpoint, which comes from the address
 * of proxies; returns a drop reason or REDIRECT_UNKNOWN.
 */
__global int redirect_join(struct __sk_buff *skb, const struct packet *packet, __u32 endpoint_id, __u64 now)
{
	const struct judge_scratch *memory = scratch();
	int reason;

	if (!packet || !memory || receiving_ifindex(skb) || packet->kind != PACKET_FLOW ||
	    !redirect_show_client(packet))
		return REDIRECT_UNKNOWN;
	reason = redirect_find_flow(endpoint_id, now) ? redirect_set_socket(packet) : DROP_NO_PROXY;
	if (!reason)
		reason = redirect_open_socket(packet, now);
	if (!reason && packet_rewrite(skb, packet, &memory->entry))
		reason = DROP_MALFORMED;
	return reason;
}

#define REDIRECT_JUDGE -8 /* in the place of an action: the packet is to be judged, which rewrites it as well */

/* Rewrites a packet of a workload, as redirect_follow() does; returns a drop reason or REDIRECT_JUDGE. */
static __always_inline int redirect_take_quickly(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						 const struct conntrack_entry *entry, enum conntrack_side side,
						 __u8 family, __u8 protocol, __u64 now)
{
	int fails;

	if (!entry_is_proxied(entry) || conntrack_endpoint(entry, side) != endpoint->endpoint_id ||
	    !conntrack_is_current(entry))
		return REDIRECT_JUDGE;
	if (conntrack_is_initiator(entry->flags, side) && protocol == IPPROTO_UDP &&
	    redirect_is_over_share(endpoint->endpoint_id))
		return DROP_PROXY_SHARE;
	if (conntrack_is_initiator(entry->flags, side))
		fails = rewrite_quickly(skb, entry, family, protocol);
	else if (READ_ONCE(entry->refreshed_at) == redirect_stamp(now))
		fails = rewrite_other_quickly(skb, entry, family, protocol);
	else
		return REDIRECT_JUDGE;
	return fails ? DROP_MALFORMED : DROP_NONE;
}

/* Rewrites a packet to a workload, as redirect_deliver() does; returns the same. */
static __always_inline int redirect_give_quickly(struct __sk_buff *skb, const struct conntrack_entry *entry,
						 enum conntrack_side side, __u8 family, __u8 protocol)
{
	if (!rewrite_applies(entry, side) || receiving_ifindex(skb) || !entry_has_owners(entry))
		return REDIRECT_JUDGE;
	return rewrite_quickly(skb, entry, family, protocol) ? DROP_MALFORMED : DROP_NONE;
}

/*
 * The complete path of a packet that the quick parser has read and that changes nothing in its entry; returns an action
 * or REDIRECT_JUDGE. An entry at rest has not expired, and is of no flow that the packet would open again. No event is
 * emitted for such a packet on either path.
 */
__global int redirect_quickly(struct __sk_buff *skb, const struct endpoint_entry *endpoint, const struct packet *packet,
			      const struct conntrack_entry *entry, __u32 hook)
{
	const __u64 now = now_ns();
	struct segment segment;
	enum conntrack_side side;
	int reason;

	if (!endpoint || !packet || !entry)
		return REDIRECT_JUDGE;
	side = packet_conntrack_side(packet) & 1;
	segment = packet_segment(packet);
	if ((entry->flags & CONNTRACK_SLOW) != CONNTRACK_PROXIED || !conntrack_rests(entry, side, &segment, now))
		return REDIRECT_JUDGE;
	reason = hook == METRICS_EGRESS
			 ? redirect_take_quickly(skb, endpoint, entry, side, packet->family, packet->protocol, now)
			 : redirect_give_quickly(skb, entry, side, packet->family, packet->protocol);
	forget_range(reason);
	if (reason)
		return reason == REDIRECT_JUDGE ? reason : action_drop(reason);
	metrics_count(hook & 1, DROP_NONE, skb->len);
	return ACTION_PASS;
}

#endif
