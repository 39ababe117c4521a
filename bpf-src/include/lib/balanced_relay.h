/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Full NAT in XDP: packets of the flows that the node relays (lib/relay.h), in both directions. The program of the stack
 * opens and ends such a flow, and has every packet that is not plain; its entries say what is rewritten here.
 */
#ifndef AGENT_LIB_BALANCED_RELAY_H
#define AGENT_LIB_BALANCED_RELAY_H

#include "lib/balanced_packet.h"
#include "lib/metrics.h"
#include "lib/rewrite.h"
#include "lib/too_big.h"
#include "maps/device_map.h"

/* balancer_flow.by_stack */
#define BALANCER_BY_STACK 1 /* the backend is on this node */
#define BALANCER_RELAYED 2  /* conntrack has the flow */

#define BALANCED_FAMILY_IPV4 2  /* AF_INET */
#define BALANCED_FAMILY_IPV6 10 /* AF_INET6 */

/* The packet after the translation; an IPv4 address is in the first word. */
struct balanced_tuple {
	union address source;
	union address destination;
	__be16 source_port_be;
	__be16 destination_port_be;
};

static __always_inline struct conntrack_entry *balanced_entry(const struct balanced *packet, __u32 *side)
{
	const struct balancer_flow_key *flow = &packet->key;

	if (packet->ipv4) {
		struct conntrack4_key key __attribute__((aligned(8)));

		*side = conntrack4_key_of(&key, ((const __be32 *)flow->client)[3], ((const __be32 *)flow->frontend)[3],
					  flow->client_port_be, flow->frontend_port_be, flow->protocol);
		return conntrack4_lookup(&key, flow->protocol);
	}

	struct conntrack6_key key __attribute__((aligned(8)));

	*side = conntrack6_key_of(&key, (const union address *)flow->client, (const union address *)flow->frontend,
				  flow->client_port_be, flow->frontend_port_be, flow->protocol);
	return conntrack6_lookup(&key, flow->protocol);
}

/* Reads what conntrack knows of a packet of TCP or UDP; returns whether it is a plain one of those. */
static __always_inline bool balanced_segment(struct xdp_md *context, const struct balanced *packet,
					     struct segment *segment)
{
	const __u32 offset = ETH_HLEN + (packet->ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	const struct l4_start *l4 = (void *)(long)context->data + offset;

	*segment = (struct segment){ .protocol = packet->key.protocol, .tcp_flags = packet->tcp_flags };
	if (packet->key.protocol == IPPROTO_UDP)
		return true;
	if (packet->key.protocol != IPPROTO_TCP || (const void *)(l4 + 1) > (void *)(long)context->data_end ||
	    l4->data_offset >> 2 < TCP_LEAST_BYTES)
		return false;
	segment->sequence = bpf_ntohl(l4->words[0]);
	segment->acknowledgement = bpf_ntohl(l4->words[1]);
	return true;
}

/* Returns whether the entry relays packets of this side, of a flow that goes on to its backend. */
static __always_inline bool balanced_holds(const struct conntrack_entry *entry, __u32 side,
					   const struct segment *segment, __u64 now)
{
	return entry_is_relayed(entry) && !(entry->rewrite & CONNTRACK_REWRITE_OUTER) && rewrite_applies(entry, side) &&
	       !conntrack_is_expired(entry, now) &&
	       !conntrack_is_reopened(READ_ONCE(entry->flags), side, segment->protocol, segment->tcp_flags) &&
	       (!rewrite_destination(entry) || conntrack_is_current(entry));
}

static __always_inline void balanced_translate(struct balanced_tuple *to, const struct conntrack_entry *entry,
					       const struct balancer_flow_key *from)
{
	const __be16 own_be = entry->rewrite_port_be, other_be = (__be16)entry->bytes[0];

	if (rewrite_destination(entry)) {
		copy_address(&to->source, entry->packets);
		copy_address(&to->destination, entry->rewrite_address);
		to->source_port_be = other_be ?: from->client_port_be;
		to->destination_port_be = own_be ?: from->frontend_port_be;
	} else {
		copy_address(&to->source, entry->rewrite_address);
		copy_address(&to->destination, entry->packets);
		to->source_port_be = own_be ?: from->client_port_be;
		to->destination_port_be = other_be ?: from->frontend_port_be;
	}
}

/* Looks up the way of the translated packet; returns whether XDP can send it by a guarded device. */
static __always_inline bool balanced_route(struct xdp_md *context, const struct balanced *packet,
					   const struct balanced_tuple *to, struct conntrack_entry *entry, __u32 side,
					   struct bpf_fib_lookup *route)
{
	__u32 device;

	__builtin_memset(route, 0, sizeof(*route));
	route->ifindex = context->ingress_ifindex;
	route->tot_len = packet->bytes;
	route->l4_protocol = packet->key.protocol;
	route->tos = packet->ipv4 ? packet->traffic_class : 0;
	if (packet->ipv4) {
		route->family = BALANCED_FAMILY_IPV4;
		route->ipv4_src = to->source.v4;
		route->ipv4_dst = to->destination.v4;
	} else {
		route->family = BALANCED_FAMILY_IPV6;
		copy_address(route->ipv6_src, &to->source);
		copy_address(route->ipv6_dst, &to->destination);
	}
	if (bpf_fib_lookup(context, route, sizeof(*route), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return false;
	device = route->ifindex;
	if (likely(device == READ_ONCE(entry->delivery_index[1 - (side & 1)])))
		return true;
	if (device >> 16 || !bpf_map_lookup_elem(&devices, &device))
		return false;
	WRITE_ONCE(entry->delivery_index[1 - (side & 1)], (__u16)device);
	return true;
}

/*
 * Changes the other entry of a flow as a packet has changed its own, as translation_tell() does. A packet of the client
 * also keeps the tuple of the answers, by which they are found to be relayed.
 */
__global int balanced_tell(struct conntrack_entry *entry, const struct balanced_tuple *to,
			   const struct segment *segment, __u64 now)
{
	if (!entry || !to || !segment)
		return 0;

	const bool ipv4 = segment->hook == FAMILY_IPV4;
	const bool client = rewrite_destination(entry);
	struct conntrack_entry *other;
	__u32 side;

	if (ipv4) {
		struct conntrack4_key key __attribute__((aligned(8)));

		side = conntrack4_key_of(&key, to->source.v4, to->destination.v4, to->source_port_be,
					 to->destination_port_be, segment->protocol);
		other = conntrack4_lookup(&key, segment->protocol);
	} else {
		struct conntrack6_key key __attribute__((aligned(8)));

		side = conntrack6_key_of(&key, &to->source, &to->destination, to->source_port_be,
					 to->destination_port_be, segment->protocol);
		other = conntrack6_lookup(&key, segment->protocol);
	}
	if (other)
		conntrack_advance(other, side, segment, now);
	else if (client)
		WRITE_ONCE(entry->expires_ns, 0);
	if (client) {
		const struct balancer_flow answers = { .by_stack = BALANCER_RELAYED };
		struct balancer_flow_key key = {
			.client_port_be = to->destination_port_be,
			.frontend_port_be = to->source_port_be,
			.protocol = segment->protocol,
		};

		if (ipv4) {
			map_ipv4(key.client, to->destination.v4);
			map_ipv4(key.frontend, to->source.v4);
		} else {
			copy_address(key.client, &to->destination);
			copy_address(key.frontend, &to->source);
		}
		bpf_map_update_elem(&balancer_flows, &key, &answers, BPF_ANY);
	}
	return 0;
}

/* Writes the ports and the checksum of the L4 header (RFC 1624, equation 3). gained: by the addresses. */
static __always_inline bool balanced_write_l4(void *header, const void *data_end, const struct balanced *packet,
					      const struct balanced_tuple *to, __u32 gained)
{
	struct l4_start *l4 = header;
	const bool tcp = packet->key.protocol == IPPROTO_TCP;
	__u16 *checksum = header + (tcp ? TCP_CHECKSUM_OFFSET : UDP_CHECKSUM_OFFSET);

	if (tcp ? (const void *)(l4 + 1) > data_end : header + L4_LEAST_BYTES > data_end)
		return false;
	gained += (__u16)~packet->key.client_port_be + (__u32)to->source_port_be;
	gained += (__u16)~packet->key.frontend_port_be + (__u32)to->destination_port_be;
	l4->source_port_be = to->source_port_be;
	l4->destination_port_be = to->destination_port_be;
	if (!tcp && !*checksum)
		return true; /* UDP without one: RFC 768 */
	*checksum = (__u16)~words_fold((__u16) ~*checksum + gained);
	if (!tcp && !*checksum)
		*checksum = 0xffff;
	return true;
}

/* Translates a frame in place and gives it a hop less; returns whether it is whole. */
static __always_inline bool balanced_write(struct xdp_md *context, const struct balanced *packet,
					   const struct balanced_tuple *to, const struct conntrack_entry *entry,
					   const struct bpf_fib_lookup *route)
{
	const __u32 gained = entry->rewrite_checksum + (__u32)(__u16)(entry->bytes[0] >> 16);
	const void *data_end = (void *)(long)context->data_end;
	struct ethhdr *frame = (void *)(long)context->data;

	if (packet->ipv4) {
		struct iphdr *ip = (void *)(frame + 1);

		if ((const void *)(ip + 1) > data_end || !balanced_write_l4(ip + 1, data_end, packet, to, gained))
			return false;
		ip->saddr = to->source.v4;
		ip->daddr = to->destination.v4;
		ip->check = (__u16)~words_fold((__u16)~ip->check + gained);
		ip->ttl--;
		ip->check = checksum_add(ip->check, bpf_htons(0x0100));
	} else {
		struct ipv6hdr *ip = (void *)(frame + 1);

		if ((const void *)(ip + 1) > data_end || !balanced_write_l4(ip + 1, data_end, packet, to, gained))
			return false;
		copy_words(&ip->saddr, &to->source, 4);
		copy_words(&ip->daddr, &to->destination, 4);
		ip->hop_limit--;
	}
	__builtin_memcpy(frame->h_dest, route->dmac, ETH_ALEN);
	__builtin_memcpy(frame->h_source, route->smac, ETH_ALEN);
	return true;
}

/* Sends a packet of a relayed flow on; returns the XDP action, XDP_PASS for what the stack relays. */
__global int balanced_relay(struct xdp_md *context, const struct balanced *packet)
{
	const __u64 now = now_ns();
	struct bpf_fib_lookup route;
	struct conntrack_entry *entry;
	struct balanced_tuple to = {};
	struct segment segment;
	__u32 side;

	if (!packet || packet->error || packet->hops <= 1 || bpf_xdp_get_buff_len(context) < ETH_HLEN + packet->bytes ||
	    !balanced_segment(context, packet, &segment) || segment.tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST))
		return XDP_PASS;
	entry = balanced_entry(packet, &side);
	if (!entry || !balanced_holds(entry, side, &segment, now))
		return XDP_PASS;
	balanced_translate(&to, entry, &packet->key);
	if (!balanced_route(context, packet, &to, entry, side, &route))
		return XDP_PASS;
	side &= 1;
	if (!conntrack_rests(entry, side, &segment, now)) {
		segment.hook = packet->ipv4 ? FAMILY_IPV4 : FAMILY_IPV6;
		conntrack_advance(entry, side, &segment, now);
		balanced_tell(entry, &to, &segment, now);
	}
	if (!balanced_write(context, packet, &to, entry, &route))
		return XDP_PASS;
	metrics_count(METRICS_NETWORK, DROP_NONE, ETH_HLEN + packet->bytes);
	return route.ifindex == context->ingress_ifindex ? XDP_TX : (int)bpf_redirect(route.ifindex, 0);
}

#endif
