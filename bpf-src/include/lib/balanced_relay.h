/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Full NAT in XDP: packets of the flows that the node relays (lib/relay.h), in both directions. The program of the stack
 * opens and ends such a flow, and has every packet that is not plain; its entries say what is rewritten here.
 */
#ifndef AGENT_LIB_BALANCED_RELAY_H
#define AGENT_LIB_BALANCED_RELAY_H

#include "lib/balanced_packet.h"
#include "lib/checksum.h"
#include "lib/datagram_number.h"
#include "lib/metrics.h"
#include "lib/rewrite.h"
#include "lib/too_big.h"

/* balancer_flow.by_stack */
#define BALANCER_BY_STACK 1 /* the backend is on this node */
#define BALANCER_RELAYED 2  /* conntrack has the flow */

static __always_inline struct conntrack_entry *balanced_entry(const struct balanced *packet, struct segment *segment)
{
	const struct balancer_flow_key *flow = &packet->key;

	if (packet->ipv4) {
		struct conntrack4_key key __attribute__((aligned(8)));

		segment->source_side = conntrack4_key_of(&key, ((const __be32 *)flow->client)[3],
							 ((const __be32 *)flow->frontend)[3], flow->client_port_be,
							 flow->frontend_port_be, flow->protocol);
		return conntrack4_lookup(&key, flow->protocol);
	}

	struct conntrack6_key key __attribute__((aligned(8)));

	segment->source_side = conntrack6_key_of(&key, (const union address *)flow->client,
						 (const union address *)flow->frontend, flow->client_port_be,
						 flow->frontend_port_be, flow->protocol);
	return conntrack6_lookup(&key, flow->protocol);
}

static __always_inline __u32 balanced_ip_bytes(const struct balanced *packet)
{
	return packet->ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

/* Reads what conntrack knows of a packet; returns whether it is a plain one of TCP or UDP, with a whole header. */
static __always_inline bool balanced_segment(struct xdp_md *context, const struct balanced *packet,
					     struct segment *segment)
{
	const __u32 ip_bytes = balanced_ip_bytes(packet);
	const struct l4_start *l4 = (void *)(long)context->data + ETH_HLEN + ip_bytes;

	*segment = (struct segment){ .protocol = packet->key.protocol, .tcp_flags = packet->tcp_flags };
	if (packet->key.protocol == IPPROTO_UDP)
		return packet->bytes >= ip_bytes + L4_LEAST_BYTES;
	if (packet->key.protocol != IPPROTO_TCP || (const void *)(l4 + 1) > (void *)(long)context->data_end)
		return false;

	const __u32 l4_bytes = (l4->data_offset >> 4) * 4;

	if (l4_bytes < TCP_LEAST_BYTES || packet->bytes < ip_bytes + l4_bytes)
		return false;
	segment->sequence = bpf_ntohl(l4->words[0]);
	segment->acknowledgement = bpf_ntohl(l4->words[1]);
	return !(segment->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST));
}

/*
 * Returns whether the entry relays packets of this side out by a device, of a flow that goes on to its backend. The
 * program of the stack sends by others: whether their drivers send for XDP is not known.
 */
static __always_inline bool balanced_holds(const struct conntrack_entry *entry, __u32 side, __u64 now, __u32 device)
{
	return entry_is_relayed(entry) && !(entry->rewrite & CONNTRACK_REWRITE_OUTER) && rewrite_applies(entry, side) &&
	       READ_ONCE(entry->delivery_index[1 - side]) == device && !conntrack_is_expired(entry, now) &&
	       (!rewrite_destination(entry) || conntrack_is_current(entry));
}

static __always_inline void balanced_translate(struct tuple *to, const struct conntrack_entry *entry,
					       const struct balancer_flow_key *from)
{
	const __be16 own_be = entry->end.port_be, other_be = entry->other.port_be;

	if (rewrite_destination(entry)) {
		copy_address(&to->source, entry->other.address);
		copy_address(&to->destination, entry->end.address);
		to->source_port_be = other_be ?: from->client_port_be;
		to->destination_port_be = own_be ?: from->frontend_port_be;
	} else {
		copy_address(&to->source, entry->end.address);
		copy_address(&to->destination, entry->other.address);
		to->source_port_be = own_be ?: from->client_port_be;
		to->destination_port_be = other_be ?: from->frontend_port_be;
	}
}

/* Looks up the way of the translated packet; returns whether that still leads out by the device by which it came. */
static __always_inline bool balanced_route(struct xdp_md *context, const struct balanced *packet,
					   const struct tuple *to, struct bpf_fib_lookup *route)
{
	__builtin_memset(route, 0, sizeof(*route));
	route->ifindex = context->ingress_ifindex;
	route->tot_len = packet->bytes;
	route->l4_protocol = packet->key.protocol;
	route_set_class(route, packet->ipv4, packet->traffic_class);
	if (packet->ipv4) {
		route->family = KERNEL_FAMILY_IPV4;
		route->ipv4_src = to->source.v4;
		route->ipv4_dst = to->destination.v4;
	} else {
		route->family = KERNEL_FAMILY_IPV6;
		copy_address(route->ipv6_src, &to->source);
		copy_address(route->ipv6_dst, &to->destination);
	}
	return bpf_fib_lookup(context, route, sizeof(*route), 0) == BPF_FIB_LKUP_RET_SUCCESS &&
	       route->ifindex == context->ingress_ifindex;
}

/* Keeps the tuple of the answers to a packet that is translated, by which they are found to be relayed. */
static __always_inline void balanced_keep_answers(const struct tuple *to, bool ipv4, __u8 protocol)
{
	const struct balancer_flow answers = { .by_stack = BALANCER_RELAYED };
	struct balancer_flow_key key = {
		.client_port_be = to->destination_port_be,
		.frontend_port_be = to->source_port_be,
		.protocol = protocol,
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

/*
 * Changes the other entry of a flow as a packet has changed its own, as translation_tell() does. refreshed: more than
 * what is acknowledged, about once a second; the tuple of the answers is kept again then.
 */
__global int balanced_tell(struct conntrack_entry *entry, const struct tuple *to, const struct segment *segment,
			   __u64 now, __u32 refreshed)
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
	if (client && refreshed)
		balanced_keep_answers(to, ipv4, segment->protocol);
	return 0;
}

/*
 * Returns whether the checksum is one that the kernel has left to a device to complete: the sum of the pseudo header.
 * Then it must not be changed as one of the packet. It is so where GRO has merged packets, in generic mode, and in
 * packets of a namespace on this host. One of 65,535 others looks so, which costs it the way by the stack.
 */
static __always_inline bool balanced_is_incomplete(const struct balanced *packet, __u16 checksum)
{
	const __u32 *client = (const __u32 *)packet->key.client, *frontend = (const __u32 *)packet->key.frontend;
	__u64 sum = bpf_htons(packet->key.protocol);

	sum += bpf_htons((__u16)(packet->bytes - balanced_ip_bytes(packet)));
	if (!packet->ipv4) {
		unrolled
		for (int i = 0; i < 3; i++)
			sum += (__u64)client[i] + frontend[i];
	}
	sum += (__u64)client[3] + frontend[3];
	return checksum == (__u16)~checksum_finish(sum);
}

/* Writes the ports and the checksum of the L4 header (RFC 1624, equation 3). gained: by the addresses. */
static __always_inline bool balanced_write_l4(void *header, const void *data_end, const struct balanced *packet,
					      const struct tuple *to, __u32 gained)
{
	struct l4_start *l4 = header;
	const bool tcp = packet->key.protocol == IPPROTO_TCP;
	__u16 *checksum = header + (tcp ? TCP_CHECKSUM_OFFSET : UDP_CHECKSUM_OFFSET);

	if (tcp ? (const void *)(l4 + 1) > data_end : header + L4_LEAST_BYTES > data_end)
		return false;
	if (unlikely(balanced_is_incomplete(packet, *checksum)))
		return false;
	gained += (__u16)~packet->key.client_port_be + (__u32)to->source_port_be;
	gained += (__u16)~packet->key.frontend_port_be + (__u32)to->destination_port_be;
	l4->source_port_be = to->source_port_be;
	l4->destination_port_be = to->destination_port_be;
	if (!tcp && !*checksum)
		return true; /* UDP without one: RFC 768 */
	*checksum = checksum_after(*checksum, gained);
	if (!tcp && !*checksum)
		*checksum = 0xffff;
	return true;
}

/* Translates a frame in place and gives it a hop less; returns whether it is whole. gained: by the addresses. */
static __always_inline bool balanced_write(struct xdp_md *context, const struct balanced *packet,
					   const struct tuple *to, const struct bpf_fib_lookup *route, __u32 gained)
{
	const void *data_end = (void *)(long)context->data_end;
	struct ethhdr *frame = (void *)(long)context->data;

	if (packet->ipv4) {
		struct iphdr *ip = (void *)(frame + 1);

		if ((const void *)(ip + 1) > data_end || !balanced_write_l4(ip + 1, data_end, packet, to, gained))
			return false;
		ip->saddr = to->source.v4;
		ip->daddr = to->destination.v4;
		ip->ttl--;
		gained += (__u16)~bpf_htons(0x0100);
		if (header_may_be_split(ip))
			gained += header_renumber(ip, 1);
		ip->check = checksum_after(ip->check, gained);
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

/* Writes a packet as it leaves; returns whether it may leave by the device by which it came. */
__global int balanced_prepare(struct xdp_md *context, const struct balanced *packet, const struct tuple *to,
			      __u32 gained)
{
	struct bpf_fib_lookup route;

	return packet && to && balanced_route(context, packet, to, &route) &&
	       balanced_write(context, packet, to, &route, gained);
}

/* Sends a packet on that the entry relays; returns the XDP action. */
__global int balanced_forward(struct xdp_md *context, const struct balanced *packet, struct conntrack_entry *entry,
			      const struct segment *segment)
{
	struct tuple to;
	__u32 side;
	__u64 now;

	if (!packet || !entry || !segment)
		return XDP_PASS;
	now = now_ns();
	side = segment->source_side & 1;
	if (!balanced_holds(entry, side, now, context->ingress_ifindex))
		return XDP_PASS;
	balanced_translate(&to, entry, &packet->key);
	if (!balanced_prepare(context, packet, &to, entry->end.checksum + (__u32)entry->other.checksum))
		return XDP_PASS;
	if (!conntrack_rests(entry, side, segment, now))
		balanced_tell(entry, &to, segment, now,
			      conntrack_advance(entry, side, segment, now) != CONNTRACK_UNCHANGED);
	metrics_count(METRICS_NETWORK, DROP_NONE, ETH_HLEN + packet->bytes);
	return XDP_TX;
}

/* The same for a packet of a flow that the program of the stack relays; XDP_PASS for what that has to do itself. */
__global int balanced_relay(struct xdp_md *context, const struct balanced *packet)
{
	struct conntrack_entry *entry;
	struct segment segment;

	if (!packet || packet->error || packet->hops <= 1 || bpf_xdp_get_buff_len(context) < ETH_HLEN + packet->bytes ||
	    !balanced_segment(context, packet, &segment))
		return XDP_PASS;
	segment.hook = packet->ipv4 ? FAMILY_IPV4 : FAMILY_IPV6;
	entry = balanced_entry(packet, &segment);
	return entry ? balanced_forward(context, packet, entry, &segment) : XDP_PASS;
}

#endif
