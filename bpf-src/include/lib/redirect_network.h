/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Packets from a device of the network to an endpoint whose policy sends their flow to a proxy (lib/redirect.h). What the
 * proxy answers leaves by to_network, as that of a service of this node does.
 */
#ifndef AGENT_LIB_REDIRECT_NETWORK_H
#define AGENT_LIB_REDIRECT_NETWORK_H

#include "lib/redirect.h"

/* Returns whether endpoints may have flows from outside sent to a proxy. */
static __always_inline bool redirect_gate_is_open(void)
{
	return redirect_first_port(REDIRECT_HTTP);
}

/* Returns whether there is a proxy. */
static __always_inline bool redirect_is_on(void)
{
	return redirect_first_port(REDIRECT_HTTP) || redirect_first_port(REDIRECT_DNS);
}

/*
 * Returns whether a packet may be to a proxy itself which the parser refuses, or whose IP header is behind a tag. One of
 * IPv6 with extension headers, which may have any ports, is taken for it. Later fragments are not: the stack gives no socket
 * a datagram without its first fragment.
 */
__global int redirect_may_be_addressed(struct __sk_buff *skb, __u32 family, __u32 ip_offset)
{
	__u32 port_offset = ip_offset + offsetof(struct udp_start, destination_port_be);
	union address destination = {};
	__be16 port_be;
	__u8 protocol;

	if (family == FAMILY_IPV4) {
		struct iphdr ip;

		if (bpf_skb_load_bytes(skb, ip_offset, &ip, sizeof(ip)) ||
		    ip.frag_off & bpf_htons(IPV4_FRAGMENT_OFFSET))
			return false;
		destination.v4 = ip.daddr;
		protocol = ip.protocol;
		port_offset += ip.ihl * 4;
	} else {
		if (bpf_skb_load_bytes(skb, ip_offset + offsetof(struct ipv6hdr, nexthdr), &protocol, 1) ||
		    bpf_skb_load_bytes(skb, ip_offset + offsetof(struct ipv6hdr, daddr), &destination, 16))
			return false;
		port_offset += IPV6_HEADER_BYTES;
	}
	if (likely(!address_is_of_proxy(&destination, family)))
		return false;
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)
		return !bpf_skb_load_bytes(skb, port_offset, &port_be, sizeof(port_be)) && redirect_has_port(port_be);
	return family == FAMILY_IPV6 && ipv6_is_extension(protocol) && redirect_is_on();
}

/* Finds what policy says of a packet to an endpoint; returns a drop reason or REDIRECT_UNKNOWN: it is to none. */
__global int redirect_ask(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement)
{
	const struct ipcache_entry *destination;
	int reason;

	if (!packet || !judgement)
		return REDIRECT_UNKNOWN;
	destination = ipcache_find(&packet->destination, packet->family);
	if (!destination || !destination->endpoint_id)
		return REDIRECT_UNKNOWN;
	reason = flow_find_parties(&judgement->flow, packet, PACKET_DESTINATION, destination->endpoint_id,
				   skb->ifindex);
	if (!reason)
		reason = flow_ask_policy(&judgement->flow, packet, PACKET_SOURCE, FLOW_BOTH_SIDES);
	return reason;
}

/* Rewrites a packet of the client of an established flow; returns a drop reason. */
__global int redirect_follow_outside(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement,
				     struct conntrack_entry *entry)
{
	enum conntrack_side side;
	int reason;

	if (!packet || !judgement || !entry)
		return DROP_NO_PROXY;
	side = packet_conntrack_side(packet) & 1;
	if (!conntrack_is_initiator(entry->flags, side))
		return DROP_NO_PROXY;
	if (!conntrack_is_current(entry)) {
		reason = redirect_ask(skb, packet, judgement);
		forget_range(reason);
		if (reason)
			return reason == REDIRECT_UNKNOWN ? DROP_NO_ENDPOINT : reason;
		if (flow_has_other_parties(&judgement->flow, entry, side))
			return DROP_NO_PROXY;
		entry->identity[side] = judgement->flow.identity[PACKET_SOURCE];
		entry->identity[1 - side] = judgement->flow.identity[PACKET_DESTINATION];
		WRITE_ONCE(entry->generation, judgement->flow.generation);
		leg_renew(packet, entry, side); /* the proxy judges by the identities there */
	}
	return redirect_follow(skb, packet, entry, judgement->now);
}

/*
 * Sends a packet of a client outside to the proxy of its flow; returns a drop reason or REDIRECT_UNKNOWN: the program of
 * the endpoint judges the packet, if it is to one.
 */
__global int redirect_from_network(struct __sk_buff *skb, const struct packet *packet)
{
	struct judge_scratch *memory = scratch();
	struct judgement *judgement;
	struct conntrack_entry *entry;
	__u32 side;
	int reason;

	if (!packet || !memory || packet->kind != PACKET_FLOW)
		return REDIRECT_UNKNOWN;
	judgement = &memory->judgement;
	__builtin_memset(judgement, 0, sizeof(*judgement));
	judgement->now = now_ns();
	judgement->put_flags = BPF_NOEXIST;
	judgement->initiator = PACKET_SOURCE;
	side = packet_conntrack_side(packet) & 1;
	judgement->source_side = side;
	entry = conntrack_find(packet);
	if (entry && !conntrack_is_expired(entry, judgement->now) &&
	    !conntrack_is_reopened(entry->flags, side, packet->protocol, packet->tcp_flags)) {
		if (entry_is_proxied(entry))
			return redirect_follow_outside(skb, packet, judgement, entry);
		if (entry->flags & (CONNTRACK_PROXIED | CONNTRACK_REWRITTEN) ||
		    !conntrack_is_initiator(entry->flags, side) || !redirect_may_begin(packet, entry->flags))
			return REDIRECT_UNKNOWN;
	}
	if (entry) {
		judgement->put_flags = BPF_ANY;
		judgement->overflow = !!(entry->flags & CONNTRACK_OVERFLOW);
	}
	if (packet->protocol == IPPROTO_TCP && !tcp_is_opening(packet->tcp_flags))
		return REDIRECT_UNKNOWN;
	reason = redirect_ask(skb, packet, judgement);
	forget_range(reason);
	if (reason || !judgement->flow.redirect)
		return REDIRECT_UNKNOWN;
	return redirect_open(skb, packet, judgement);
}

#endif
