/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Whether a flow between an endpoint and an outside address bypasses the stack: in both directions, or in neither. It
 * does where the kernel's routes lead to the address by a device on which the host program takes the answers. The
 * device is in the entry of the flow, and is looked up again about once a second while packets pass (enum
 * conntrack_change), so that a changed route reaches a running flow. Rules and routes may be for a traffic class: the
 * entry says for which one its device was looked up, and packets of another class have a lookup of their own.
 */
#ifndef AGENT_LIB_ROUTE_H
#define AGENT_LIB_ROUTE_H

#include "lib/conntrack.h"
#include "lib/delivery.h"
#include "lib/ip.h"
#include "maps/device_map.h"

/* Flags of entries whose packets the stack delivers: the program of the endpoint judges them. */
#define CONNTRACK_IN_STACK (CONNTRACK_DENIED | CONNTRACK_BY_STACK | CONNTRACK_UNTRACKED_LOW | CONNTRACK_UNTRACKED_HIGH)

/*
 * Returns whether flows with these flags may bypass the stack. The stack checks the source addresses of an endpoint
 * whose own are not verified.
 */
static __always_inline bool route_may_bypass(const struct endpoint_entry *endpoint, __u32 flags)
{
	const __u32 needed = OPTION_HOST_ROUTING | OPTION_SOURCE_IP_VERIFICATION;

	return (endpoint->options & needed) == needed && !(flags & CONNTRACK_IN_STACK);
}

/* Copies the addresses of the packet as one from the endpoint to its peer; returns whether that failed. */
static __always_inline bool route_copy_addresses(struct __sk_buff *skb, struct bpf_fib_lookup *route, __u32 family,
						 bool from_peer)
{
	if (family == FAMILY_IPV4) {
		const __u32 source = ETH_HLEN + offsetof(struct iphdr, saddr);
		const __u32 destination = ETH_HLEN + offsetof(struct iphdr, daddr);

		route->family = KERNEL_FAMILY_IPV4;
		return bpf_skb_load_bytes(skb, from_peer ? destination : source, &route->ipv4_src, 4) ||
		       bpf_skb_load_bytes(skb, from_peer ? source : destination, &route->ipv4_dst, 4);
	}

	const __u32 source = ETH_HLEN + offsetof(struct ipv6hdr, saddr);
	const __u32 destination = ETH_HLEN + offsetof(struct ipv6hdr, daddr);

	route->family = KERNEL_FAMILY_IPV6;
	return bpf_skb_load_bytes(skb, from_peer ? destination : source, route->ipv6_src, 16) ||
	       bpf_skb_load_bytes(skb, from_peer ? source : destination, route->ipv6_dst, 16);
}

/*
 * Returns the part of the traffic class of a header that starts with these bytes by which routes are chosen (RFC 2474),
 * in the place that it has in the byte.
 */
static __always_inline __u32 route_class_in(const __u8 *start, __u32 family)
{
	return (family == FAMILY_IPV4 ? start[1] : start[0] << 4 | start[1] >> 4) & CONNTRACK_DELIVERY_CLASS;
}

/* Returns that of a packet. */
static __always_inline __u32 route_class(struct __sk_buff *skb, __u32 family)
{
	__u8 start[2] = { 0, 0 };

	bpf_skb_load_bytes(skb, ETH_HLEN, start, sizeof(start));
	return route_class_in(start, family);
}

/* The same for a packet whose header is read already. */
static __always_inline __u32 route_class_quickly(const struct __sk_buff *skb, __u32 family)
{
	const __u8 *start = (void *)(long)skb->data + ETH_HLEN;

	return likely((const void *)(start + 2) <= (void *)(long)skb->data_end) ? route_class_in(start, family) : 0;
}

#define ROUTE_BY_STACK 0x10000 /* with the device: the stack must forward */

/*
 * Returns the device of the network by which a packet of an endpoint reaches its peer, or 0 where there is none; with
 * ROUTE_BY_STACK where the route allows smaller packets than the device, or the device smaller ones than every packet
 * that deliver_fits() takes. from_peer: the packet at hand is one of the peer. traffic_class: of those of the endpoint.
 *
 * The length of one byte asks for no check of the length and for the MTU of the route, which the kernel returns where
 * the neighbour is known.
 */
__global int route_find(struct __sk_buff *skb, __u32 family, __u32 from_peer, __u32 endpoint_ifindex,
			__u32 traffic_class)
{
	struct bpf_fib_lookup route = { .ifindex = endpoint_ifindex, .tot_len = 1 };
	__u32 mtu = 0;
	__u32 device;
	long result;

	if (route_copy_addresses(skb, &route, family, from_peer))
		return 0;
	route_set_class(&route, family == FAMILY_IPV4, traffic_class);
	result = bpf_fib_lookup(skb, &route, sizeof(route), 0);
	if (result != BPF_FIB_LKUP_RET_SUCCESS && result != BPF_FIB_LKUP_RET_NO_NEIGH)
		return 0;
	device = route.ifindex;
	if (device >> 16 || !bpf_map_lookup_elem(&devices, &device))
		return 0;
	bpf_check_mtu(skb, device, &mtu, 0, 0); /* writes the MTU of the device */
	if (mtu < DELIVERY_LEAST_MTU || (result == BPF_FIB_LKUP_RET_SUCCESS && route.mtu_result < mtu))
		return device | ROUTE_BY_STACK;
	return device;
}

/* Returns the device by which a packet of an endpoint bypasses the stack, or 0 where the stack must forward it. */
static __always_inline __u32 route_device(struct __sk_buff *skb, __u32 family, bool from_peer, __u32 endpoint_ifindex,
					  __u32 traffic_class)
{
	const __u32 found = route_find(skb, family, from_peer, endpoint_ifindex, traffic_class);

	return found & ROUTE_BY_STACK ? 0 : found;
}

/* Returns whether packets to this side of the flow bypass the stack. */
static __always_inline bool entry_bypasses_stack(const struct conntrack_entry *entry, enum conntrack_side to)
{
	return (entry->delivery_kind[to] & CONNTRACK_DELIVERY) == CONNTRACK_TO_NEIGHBOUR;
}

/* Returns whether the device of an entry was looked up for another class. */
static __always_inline bool route_is_of_other_class(const struct conntrack_entry *entry, enum conntrack_side to,
						    __u32 traffic_class)
{
	return unlikely((traffic_class ^ entry->delivery_kind[to]) & CONNTRACK_DELIVERY_CLASS);
}

/*
 * Returns the device by which a packet of an endpoint bypasses the stack in a flow that does, or 0 where the stack must
 * forward it.
 */
static __always_inline __u32 route_of_packet(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					     const struct conntrack_entry *entry, enum conntrack_side to, __u8 family)
{
	const __u32 traffic_class = route_class_quickly(skb, family);

	if (route_is_of_other_class(entry, to, traffic_class))
		return route_device(skb, family, false, endpoint->ifindex, traffic_class);
	return entry->delivery_index[to];
}

/* Looks up again by which device a flow with an outside address bypasses the stack. */
__global int route_refresh(struct __sk_buff *skb, struct conntrack_entry *entry, __u32 source_side, __u32 family,
			   const struct endpoint_entry *endpoint)
{
	if (!entry || !endpoint)
		return 0;

	const __u32 flags = READ_ONCE(entry->flags);
	const enum conntrack_side outside = flags & CONNTRACK_OUTSIDE_LOW ? CONNTRACK_LOW : CONNTRACK_HIGH;
	const __u32 known_class = READ_ONCE(entry->delivery_kind[outside]) & CONNTRACK_DELIVERY_CLASS;
	const bool from_peer = outside == source_side;
	__u32 traffic_class, device;

	if (!(flags & (CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH)) || !route_may_bypass(endpoint, flags))
		return 0;
	traffic_class = from_peer ? known_class : route_class(skb, family);
	device = route_device(skb, family, from_peer, endpoint->ifindex, traffic_class);
	if (device)
		WRITE_ONCE(entry->delivery_index[outside], (__u16)device);
	WRITE_ONCE(entry->delivery_kind[outside],
		   (device ? CONNTRACK_TO_NEIGHBOUR : CONNTRACK_BY_KERNEL) | traffic_class);
	return 0;
}

#endif
