/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Forwards a packet to a local workload or to the network as a router does, bypassing the stack. */
#ifndef AGENT_LIB_DELIVERY_H
#define AGENT_LIB_DELIVERY_H

#include "lib/action.h"
#include "lib/completion.h"
#include "lib/parse_ipv4.h"
#include "lib/parse_ipv6.h"

/*
 * The change of the checksum when the hop limit, the low byte of its 16-bit word, is decremented: -1 in one's
 * complement.
 */
#define IPV6_HOP_CHECKSUM_DELTA 0xfffe

static __always_inline void ethernet_write(void *ethernet, const void *macs)
{
	__u32 *to = ethernet;
	const __u32 *from = macs;

	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
}

/* RFC 1624: the checksum increases by the amount by which the 16-bit word of the TTL decreases. */
static __always_inline void ipv4_decrement_ttl(struct iphdr *ip)
{
	const __u32 checksum = ip->check + (__u32)bpf_htons(0x0100);

	ip->check = (__sum16)(checksum + (checksum >= 0xffff));
	ip->ttl--;
}

static __always_inline bool mac_equals(const void *a, const volatile void *b)
{
	const __u16 *left = a;
	const volatile __u16 *right = b;

	return left[0] == right[0] && left[1] == right[1] && left[2] == right[2];
}

/*
 * Decrements the TTL or hop limit; returns the frame, or NULL where that expires: the stack has to handle the packet,
 * and sends an ICMP error.
 */
static __always_inline void *deliver_hop(struct __sk_buff *skb, __u8 family)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;

	if (family == FAMILY_IPV4) {
		struct iphdr *ip = data + ETH_HLEN;

		if (unlikely((void *)(ip + 1) > data_end || ip->ttl <= 1))
			return NULL;
		ipv4_decrement_ttl(ip);
	} else {
		struct ipv6hdr *ip = data + ETH_HLEN;

		if (unlikely((void *)(ip + 1) > data_end || ip->hop_limit <= 1))
			return NULL;
		ip->hop_limit--;
		bpf_csum_update(skb, bpf_htons(IPV6_HOP_CHECKSUM_DELTA));
	}
	return data;
}

/* Returns whether deliver_hop() would forward the packet. */
static __always_inline bool deliver_lives(const struct __sk_buff *skb, __u8 family)
{
	const void *ip = (void *)(long)skb->data + ETH_HLEN;
	const __u32 bytes = family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES;

	if (ip + bytes > (void *)(long)skb->data_end)
		return false;
	return (family == FAMILY_IPV4 ? ((const struct iphdr *)ip)->ttl : ((const struct ipv6hdr *)ip)->hop_limit) > 1;
}

/*
 * Rewrites the MAC addresses and the TTL of a packet to a workload; returns false where the stack has to take it. macs:
 * destination and source MAC address in frame order.
 */
static __always_inline bool deliver_address(struct __sk_buff *skb, __u8 family, const void *macs)
{
	void *frame = deliver_hop(skb, family);

	if (unlikely(!frame))
		return false;
	ethernet_write(frame, macs);
	return true;
}

/* The same, and redirects the packet to the workload's namespace. */
static __always_inline int deliver_to_workload(struct __sk_buff *skb, __u8 family, __u32 ifindex, const void *macs)
{
	return likely(deliver_address(skb, family, macs)) ? (int)bpf_redirect_peer(ifindex, 0) : ACTION_PASS;
}

/* A packet of up to so many bytes fits each device of TO_NEIGHBOUR (lib/route.h): the least MTU of IPv6, RFC 8200. */
#define DELIVERY_LEAST_MTU 1280

/* Returns whether the packet, or each of its segments, fits the MTU of the device. */
static __always_inline bool deliver_fits(struct __sk_buff *skb, __u32 ifindex)
{
	__u32 mtu = 0; /* of the packet's own length */

	return likely(skb->len <= ETH_HLEN + DELIVERY_LEAST_MTU) ||
	       !bpf_check_mtu(skb, ifindex, &mtu, 0, BPF_MTU_CHK_SEGS);
}

/* Sends a packet that fits the device by it to the next hop, whose MAC address the kernel resolves. */
static __always_inline int deliver_fitting(struct __sk_buff *skb, __u8 family, __u32 ifindex)
{
	if (unlikely(!deliver_hop(skb, family)))
		return ACTION_PASS;
	packet_set_complete(skb);
	return (int)bpf_redirect_neigh(ifindex, NULL, 0, 0);
}

/* The same; a packet that is too large passes to the stack, which splits it or sends an ICMP error. */
static __always_inline int deliver_to_neighbour(struct __sk_buff *skb, __u8 family, __u32 ifindex)
{
	return likely(deliver_fits(skb, ifindex)) ? deliver_fitting(skb, family, ifindex) : ACTION_PASS;
}

/* Pulls the headers that the delivery rewrites into the linear part of the skb. */
static __always_inline void deliver_prepare(struct __sk_buff *skb)
{
	const __u32 header_bytes = ETH_HLEN + IPV6_HEADER_BYTES;

	if ((__u32)(skb->data_end - skb->data) < header_bytes)
		bpf_skb_pull_data(skb, skb->len < header_bytes ? skb->len : header_bytes);
}

#endif
