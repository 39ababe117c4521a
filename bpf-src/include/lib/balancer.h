/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The load balancer of a device: sends the packets of clients to a frontend to one of its backends, encapsulated in an
 * IP packet to the backend, which answers the client itself (direct return). IPv4 in IPv4 as RFC 2003 has it, IPv6 in
 * IPv6 as RFC 2473. Flows that the node relays instead get full NAT (lib/balanced_relay.h). What it does not take passes
 * to the stack.
 */
#ifndef AGENT_LIB_BALANCER_H
#define AGENT_LIB_BALANCER_H

#include "config/balancer_config.h"
#include "lib/balanced_packet.h"
#include "lib/balanced_relay.h"
#include "lib/datagram_number.h"
#include "lib/metrics.h"
#include "lib/too_big.h"
#include "maps/interface_map.h"

/* The halves of an address as struct packet has them. */
static __always_inline void balancer_halves(__u64 *halves, const void *mapped, bool ipv4)
{
	halves[0] = ipv4 ? ((const __u32 *)mapped)[3] : ((const __u64 *)mapped)[0];
	halves[1] = ipv4 ? 0 : ((const __u64 *)mapped)[1];
}

/*
 * Returns the number of packet_hash() for the tuple: what is left to the stack goes to the backend that was selected
 * here, since that selects by the same table.
 */
static __always_inline __u64 balancer_hash(const struct balancer_flow_key *key, bool ipv4)
{
	__u64 client[2], frontend[2];

	balancer_halves(client, key->client, ipv4);
	balancer_halves(frontend, key->frontend, ipv4);
	return tuple_hash(client, frontend, key->client_port_be, key->frontend_port_be, key->protocol);
}

/* Returns the number of outside_client() for a client. */
static __always_inline __u64 balancer_client(const struct balancer_flow_key *key, bool ipv4)
{
	__u64 halves[2];

	balancer_halves(halves, key->client, ipv4);
	return outside_client(halves);
}

static __always_inline const struct ipcache_entry *balancer_ipcache(const void *mapped, bool ipv4)
{
	union address address = {};

	if (ipv4)
		address.v4 = ((const __be32 *)mapped)[3];
	else
		copy_address(&address, mapped);
	return ipcache_find(&address, ipv4 ? FAMILY_IPV4 : FAMILY_IPV6);
}

/* Returns whether the address is of this node or of a workload on it. */
static __always_inline bool balancer_is_local(const void *mapped, bool ipv4)
{
	const struct ipcache_entry *entry = balancer_ipcache(mapped, ipv4);

	return entry && (entry->endpoint_id || entry->flags & IPCACHE_FLAG_HOST);
}

#define BALANCER_SELECTED 0 /* and no XDP action */

static __always_inline int balancer_drop(const struct balanced *packet, enum drop_reason reason)
{
	metrics_count(METRICS_NETWORK, reason, ETH_HLEN + packet->bytes);
	return XDP_DROP;
}

/*
 * Selects the backend of a flow that has none, for a packet that is intact, and keeps it; returns BALANCER_SELECTED, or
 * the XDP action for the packet.
 */
__global int balancer_select(struct xdp_md *context, const struct balanced *packet, struct balancer_flow *flow)
{
	const struct service_entry *service;
	struct balancer_flow_key key;
	struct balancer_flow fresh = {};
	enum drop_reason reason;
	struct end end;
	__u64 hash, client;
	bool relayed;

	if (!packet || !flow || packet->error || (packet->key.protocol == IPPROTO_TCP && packet->tcp_flags & TCP_RST))
		return XDP_PASS;
	key = packet->key;
	copy_address(end.address, key.frontend);
	end.port_be = key.frontend_port_be;
	if (!packet->ipv4 && end_is_mapped(&end))
		return XDP_PASS;
	service = service_of(&end, key.protocol, SERVICE_OUTSIDE);
	if (!service || balancer_is_local(key.client, packet->ipv4))
		return XDP_PASS;
	reason = balanced_verify(context, packet);
	if (unlikely(reason))
		return balancer_drop(packet, reason);
	hash = balancer_hash(&key, packet->ipv4);
	client = balancer_client(&key, packet->ipv4);
	if (!service_select(service, client, (__u32)hash, hash >> 32, &end))
		return XDP_PASS;
	fresh.service_id = service->service_id;
	copy_address(fresh.address, end.address);
	fresh.port_be = end.port_be;
	relayed = end.port_be != key.frontend_port_be || service->forwarding == SERVICE_FORWARDING_SNAT;
	fresh.by_stack = relayed ? BALANCER_RELAYED : 0;
	if (end_is_mapped(&end) != packet->ipv4 || balancer_is_local(end.address, packet->ipv4))
		fresh.by_stack = BALANCER_BY_STACK;
	bpf_map_update_elem(&balancer_flows, &key, &fresh, BPF_ANY);
	*flow = fresh;
	return BALANCER_SELECTED;
}

/* Returns whether the packet is one of a flow that conntrack has, whose program also asks for the backend. */
static __always_inline bool balancer_relays(const struct balancer_flow *flow, const struct balanced *packet)
{
	return unlikely(flow->by_stack == BALANCER_RELAYED) &&
	       !(packet->key.protocol == IPPROTO_TCP && tcp_is_opening(packet->tcp_flags));
}

/* Returns whether the backend of a flow still takes the packet. */
static __always_inline bool balancer_keeps(const struct balancer_flow *flow, const struct balanced *packet)
{
	const __u32 state = service_backend_state(flow->service_id, flow->address, flow->port_be);

	return likely(state == BACKEND_ACTIVE) ||
	       (state == BACKEND_TERMINATING &&
		!(packet->key.protocol == IPPROTO_TCP && tcp_is_opening(packet->tcp_flags)));
}

/* Looks up the way to the backend; returns BPF_FIB_LKUP_RET_*. */
static __always_inline long balancer_route(struct xdp_md *context, const struct balanced *packet,
					   const struct balancer_flow *flow, struct bpf_fib_lookup *route)
{
	__builtin_memset(route, 0, sizeof(*route));
	route->ifindex = context->ingress_ifindex;
	route->tot_len = packet->bytes + outer_bytes(packet);
	route_set_class(route, packet->ipv4, packet->traffic_class);
	if (packet->ipv4) {
		route->family = KERNEL_FAMILY_IPV4;
		route->l4_protocol = IPPROTO_IPIP;
		route->ipv4_src = *(const volatile __be32 *)balancer_config.source4;
		route->ipv4_dst = ((const __be32 *)flow->address)[3];
	} else {
		route->family = KERNEL_FAMILY_IPV6;
		route->l4_protocol = IPPROTO_IPV6;
		unrolled
		for (int i = 0; i < 4; i++)
			route->ipv6_src[i] = ((const volatile __u32 *)balancer_config.source6)[i];
		copy_address(route->ipv6_dst, flow->address);
	}
	return bpf_fib_lookup(context, route, sizeof(*route), 0);
}

static __always_inline bool balancer_leads_to_workload(__u32 ifindex)
{
	const __u32 index = ifindex % INTERFACE_CELLS;
	const struct interface_cell *cell = bpf_map_lookup_elem(&interfaces, &index);

	return (cell && READ_ONCE(cell->ifindex) == ifindex) || bpf_map_lookup_elem(&interfaces_overflow, &ifindex);
}

/* The outer header has the traffic class of the inner one, and may be fragmented where that may. */
static __always_inline void outer_fill_ipv4(struct iphdr *outer, const struct balanced *packet, __be32 source,
					    __be32 destination)
{
	struct iphdr *inner = outer + 1;
	__be32 *words = (__be32 *)outer;
	__u32 number = bpf_ntohs(packet->id_be);

	if (!packet->dont_fragment)
		number = bpf_ntohs(datagram_number(source, destination, IPPROTO_IPIP, 1, packet->id_be));
	words[0] = bpf_htonl(IPV4_VERSION_AND_WORDS << 24 | (__u32)packet->traffic_class << 16 |
			     (__u16)(packet->bytes + sizeof(*outer)));
	words[1] = bpf_htonl(number << 16 | (packet->dont_fragment ? IPV4_DONT_FRAGMENT : 0));
	words[2] = bpf_htonl(OUTER_HOPS << 24 | IPPROTO_IPIP << 16);
	outer->saddr = source;
	outer->daddr = destination;
	outer->check = ipv4_header_checksum(outer);
	inner->ttl--;
	inner->check = checksum_add(inner->check, bpf_htons(0x0100));
}

static __always_inline void outer_fill_ipv6(struct ipv6hdr *outer, const struct balanced *packet, const void *source,
					    const void *destination)
{
	struct ipv6hdr *inner = outer + 1;
	/* For the paths of the network: RFC 6438. */
	const __u32 label = balancer_hash(&packet->key, false) & IPV6_FLOW_LABEL;

	*(__be32 *)outer = bpf_htonl(6U << 28 | (__u32)packet->traffic_class << 20 | label);
	outer->payload_len = bpf_htons(packet->bytes);
	outer->nexthdr = IPPROTO_IPV6;
	outer->hop_limit = OUTER_HOPS;
	copy_words(&outer->saddr, source, 4);
	copy_words(&outer->daddr, destination, 4);
	inner->hop_limit--;
}

/*
 * Makes room for an outer header between the Ethernet and the IP header; returns the frame, or NULL where there is no
 * room. macs: what the frame gets, or NULL: it keeps them.
 */
static __always_inline struct ethhdr *balancer_make_room(struct xdp_md *context, __u32 outer, const void *macs)
{
	struct ethhdr *frame, *before;

	if (bpf_xdp_adjust_head(context, -(int)outer))
		return NULL;
	frame = (void *)(long)context->data;
	before = (void *)frame + outer;
	if ((void *)(before + 1) + outer > (void *)(long)context->data_end)
		return NULL;
	copy_words(frame, macs ?: before, 3);
	frame->h_proto = before->h_proto;
	return frame;
}

/*
 * Encapsulates a packet; returns whether that failed. While the MAC address of the next hop is not known, the stack
 * sends the outer packet and finds it out: that has the source of the client then, since the stack takes no packet
 * with an address of its own.
 */
static __always_inline bool balancer_encapsulate(struct xdp_md *context, const struct balanced *packet,
						 const struct bpf_fib_lookup *route, bool by_stack)
{
	struct ethhdr *frame;
	__u32 macs[3];

	__builtin_memcpy(macs, route->dmac, ETH_ALEN);
	__builtin_memcpy((void *)macs + ETH_ALEN, route->smac, ETH_ALEN);
	if (packet->ipv4) {
		frame = balancer_make_room(context, sizeof(struct iphdr), by_stack ? NULL : macs);
		if (!frame)
			return true;
		outer_fill_ipv4((void *)(frame + 1), packet,
				by_stack ? ((const __be32 *)packet->key.client)[3] : route->ipv4_src, route->ipv4_dst);
		return false;
	}
	frame = balancer_make_room(context, sizeof(struct ipv6hdr), by_stack ? NULL : macs);
	if (!frame)
		return true;
	outer_fill_ipv6((void *)(frame + 1), packet, by_stack ? (const void *)packet->key.client : route->ipv6_src,
			route->ipv6_dst);
	return false;
}

/* Sends a packet to its backend; returns the XDP action. */
__global int balancer_send(struct xdp_md *context, const struct balanced *packet, const struct balancer_flow *flow)
{
	const __u32 ingress = context->ingress_ifindex;
	struct bpf_fib_lookup route;
	long result;

	if (!packet || !flow)
		return XDP_PASS;
	if (unlikely(packet->bytes + outer_bytes(packet) > IP_LARGEST_BYTES))
		return balancer_drop(packet, DROP_NOT_FORWARDABLE);
	result = balancer_route(context, packet, flow, &route);
	switch (result) {
	case BPF_FIB_LKUP_RET_SUCCESS:
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		break;
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		balancer_drop(packet, DROP_NOT_FORWARDABLE);
		return too_big_answer(context, packet, route.mtu_result);
	case BPF_FIB_LKUP_RET_BLACKHOLE:
	case BPF_FIB_LKUP_RET_UNREACHABLE:
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return balancer_drop(packet, DROP_SERVICE_UNSERVED);
	default:
		return XDP_PASS; /* an address of this node, or a node that does not forward */
	}
	if (unlikely(route.ifindex != ingress && balancer_leads_to_workload(route.ifindex)))
		return XDP_PASS;
	if (balancer_encapsulate(context, packet, &route, result == BPF_FIB_LKUP_RET_NO_NEIGH))
		return balancer_drop(packet, DROP_MALFORMED);
	metrics_count(METRICS_NETWORK, DROP_NONE, ETH_HLEN + packet->bytes);
	if (unlikely(result == BPF_FIB_LKUP_RET_NO_NEIGH))
		return XDP_PASS;
	return route.ifindex == ingress ? XDP_TX : bpf_redirect(route.ifindex, 0);
}

/* Returns whether the frame is to this device. */
static __always_inline bool balancer_is_addressed(const struct ethhdr *frame)
{
	const __u16 *mac = (const __u16 *)frame->h_dest;
	const volatile __u16 *own = (const volatile __u16 *)balancer_config.mac;

	return mac[0] == own[0] && mac[1] == own[1] && mac[2] == own[2];
}

static __always_inline bool balancer_parse(struct xdp_md *context, struct balanced *packet)
{
	const void *data_end = (void *)(long)context->data_end;
	const struct ethhdr *frame = (void *)(long)context->data;

	if ((const void *)(frame + 1) > data_end || !balancer_is_addressed(frame))
		return false;
	if (frame->h_proto == bpf_htons(ETH_P_IP))
		return balancer_config.enable_ipv4 && balanced_parse_ipv4((void *)(frame + 1), data_end, packet);
	return frame->h_proto == bpf_htons(ETH_P_IPV6) && balancer_config.enable_ipv6 &&
	       balanced_parse_ipv6((void *)(frame + 1), data_end, packet);
}

/* Returns the XDP action for a packet of a flow, which is intact. */
static __always_inline int balancer_forward(struct xdp_md *context, const struct balanced *packet,
					    const struct balancer_flow *flow)
{
	if (unlikely(flow->by_stack == BALANCER_RELAYED))
		return balanced_relay(context, packet);
	if (flow->by_stack || packet->hops <= 1 || bpf_xdp_get_buff_len(context) < ETH_HLEN + packet->bytes)
		return XDP_PASS;
	return balancer_send(context, packet, flow);
}

/* Returns the XDP action for a packet. */
static __always_inline int balance(struct xdp_md *context)
{
	struct balanced packet = {};
	const struct balancer_flow *kept;
	struct balancer_flow flow;
	enum drop_reason reason;
	int action;

	if (!service_gate_is_open() || !balancer_parse(context, &packet))
		return XDP_PASS;
	kept = bpf_map_lookup_elem(&balancer_flows, &packet.key);
	if (!kept || !(balancer_relays(kept, &packet) || likely(balancer_keeps(kept, &packet)))) {
		__builtin_memset(&flow, 0, sizeof(flow));
		action = balancer_select(context, &packet, &flow);
		return action == BALANCER_SELECTED ? balancer_forward(context, &packet, &flow) : action;
	}
	reason = balanced_verify(context, &packet);
	if (unlikely(reason))
		return balancer_drop(&packet, reason);
	if (balancer_relays(kept, &packet))
		return balanced_relay(context, &packet);
	flow = *kept; /* the map may give its place to another flow */
	return balancer_forward(context, &packet, &flow);
}

#endif
