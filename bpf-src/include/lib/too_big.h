/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Answers a packet that does not fit the route to its backend once it is encapsulated, in the place of the frontend:
 * "fragmentation needed" (RFC 1191) and "packet too big" (RFC 4443).
 */
#ifndef AGENT_LIB_TOO_BIG_H
#define AGENT_LIB_TOO_BIG_H

#include "lib/balanced_packet.h"
#include "lib/checksum.h"

#define ICMP4_CODE_FRAGMENTATION_NEEDED 4
#define ICMP6_PACKET_TOO_BIG 2
#define TOO_BIG_HOPS 64
#define TOO_BIG_QUOTED 504 /* bytes of the packet; with the ICMP header what the kernel sums up at once */

/* The message before the quoted packet; the MTU of IPv4 is the lower half of the word. */
struct too_big {
	__u8 type;
	__u8 code;
	__u16 checksum;
	__be32 mtu_be;
};
_Static_assert(sizeof(struct too_big) == ICMP_HEADER_BYTES, "too_big");

/* Returns the bytes of the header that encapsulation adds. */
static __always_inline __u32 outer_bytes(const struct balanced *packet)
{
	return packet->ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

static __always_inline void too_big_fill_ipv4(struct iphdr *ip, __u32 mtu)
{
	struct too_big *icmp = (void *)(ip + 1);
	const struct iphdr *quoted = (const void *)(icmp + 1);

	*(__u8 *)ip = IPV4_VERSION_AND_WORDS;
	ip->tos = 0;
	ip->tot_len = bpf_htons(sizeof(*ip) + sizeof(*icmp) + TOO_BIG_QUOTED);
	ip->id = 0;
	ip->frag_off = bpf_htons(IPV4_DONT_FRAGMENT);
	ip->ttl = TOO_BIG_HOPS;
	ip->protocol = IPPROTO_ICMP;
	ip->check = 0;
	ip->saddr = quoted->daddr;
	ip->daddr = quoted->saddr;
	ip->check = checksum_finish(words_sum(ip, sizeof(*ip)));
	icmp->type = ICMP4_UNREACHABLE;
	icmp->code = ICMP4_CODE_FRAGMENTATION_NEEDED;
	icmp->checksum = 0;
	icmp->mtu_be = bpf_htonl(mtu);
	icmp->checksum = checksum_finish(words_sum(icmp, sizeof(*icmp) + TOO_BIG_QUOTED));
}

static __always_inline void too_big_fill_ipv6(struct ipv6hdr *ip, __u32 mtu)
{
	struct too_big *icmp = (void *)(ip + 1);
	const struct ipv6hdr *quoted = (const void *)(icmp + 1);
	__u64 sum;

	*(__be32 *)ip = bpf_htonl(6U << 28);
	ip->payload_len = bpf_htons(sizeof(*icmp) + TOO_BIG_QUOTED);
	ip->nexthdr = IPPROTO_ICMPV6;
	ip->hop_limit = TOO_BIG_HOPS;
	copy_words(&ip->saddr, &quoted->daddr, 4);
	copy_words(&ip->daddr, &quoted->saddr, 4);
	icmp->type = ICMP6_PACKET_TOO_BIG;
	icmp->code = 0;
	icmp->checksum = 0;
	icmp->mtu_be = bpf_htonl(mtu);
	sum = (__u32)bpf_csum_diff(NULL, 0, (__be32 *)icmp, sizeof(*icmp) + TOO_BIG_QUOTED, 0);
	sum += (__u32)bpf_csum_diff(NULL, 0, (__be32 *)&ip->saddr, 2 * sizeof(ip->saddr), 0);
	sum += bpf_htons(sizeof(*icmp) + TOO_BIG_QUOTED) + bpf_htons(IPPROTO_ICMPV6);
	icmp->checksum = checksum_finish(sum);
}

/*
 * Makes room for the answer before the packet and cuts what it does not quote; returns the frame with its addresses, or
 * NULL where that failed. headers: bytes of the IP header and the message.
 */
static __always_inline struct ethhdr *too_big_make_room(struct xdp_md *context, __u32 headers)
{
	const int cut = (int)(ETH_HLEN + TOO_BIG_QUOTED) - (int)bpf_xdp_get_buff_len(context);
	struct ethhdr *frame, *before;

	if (bpf_xdp_adjust_tail(context, cut) || bpf_xdp_adjust_head(context, -(int)headers))
		return NULL;
	frame = (void *)(long)context->data;
	before = (void *)frame + headers;
	if ((void *)(before + 1) + TOO_BIG_QUOTED > (void *)(long)context->data_end)
		return NULL;
	__builtin_memcpy(frame->h_dest, before->h_source, ETH_ALEN);
	__builtin_memcpy(frame->h_source, before->h_dest, ETH_ALEN);
	frame->h_proto = before->h_proto;
	return frame;
}

/*
 * Answers by the way that the packet has come; returns the XDP action. The sender of an ICMP error gets no answer, nor
 * does one that lets IPv4 packets be fragmented: it would not change anything.
 */
__global int too_big_answer(struct xdp_md *context, const struct balanced *packet, __u32 mtu)
{
	struct ethhdr *frame;

	if (!packet || packet->error || packet->bytes < TOO_BIG_QUOTED || mtu <= outer_bytes(packet))
		return XDP_DROP;
	if (packet->ipv4) {
		if (!packet->dont_fragment)
			return XDP_DROP;
		frame = too_big_make_room(context, sizeof(struct iphdr) + sizeof(struct too_big));
		if (!frame)
			return XDP_DROP;
		too_big_fill_ipv4((void *)(frame + 1), mtu - sizeof(struct iphdr));
		return XDP_TX;
	}
	frame = too_big_make_room(context, sizeof(struct ipv6hdr) + sizeof(struct too_big));
	if (!frame)
		return XDP_DROP;
	too_big_fill_ipv6((void *)(frame + 1), mtu - sizeof(struct ipv6hdr));
	return XDP_TX;
}

#endif
