/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Fragments of NAT46 (lib/nat46.h): RFC 7915, sections 4, 4.1 and 5.1.1. IPv6 has an extension header for what is in the
 * header of IPv4, so that the fragments of hosts that fill their links do not fit the interface of the workload. Those,
 * and packets that may be split, become two fragments: a clone, which has a mark in tc_index, comes through to_endpoint
 * again and becomes the first of them; the packet itself becomes the second.
 */
#ifndef AGENT_LIB_NAT46_FRAGMENT_H
#define AGENT_LIB_NAT46_FRAGMENT_H

#include "lib/nat46_error.h"

#define NAT46_FRAGMENT_OFFSET (ETH_HLEN + IPV6_HEADER_BYTES) /* of a Fragment header, which is the only extension */
#define NAT46_FRAGMENT_GROWTH (NAT46_GROWTH + (__u32)sizeof(struct ipv6_extension))

/* What the kernel cuts from a packet at once, in units of fragments; and how often that may be needed. */
#define NAT46_CUT_BYTES 4088
#define NAT46_CUTS 3

#define NAT46_SUM_BYTES 256 /* what is summed up at once */

/* Bytes of a packet whose removal and return has the kernel forget that its checksum is still to be completed. */
#define NAT46_FORGET_BYTES 40

/* What an IPv6 packet has of the payload of an IPv4 packet. */
struct nat46_piece {
	__u16 begin;     /* bytes of the payload before it */
	__u16 bytes;     /* of the payload in it */
	__u16 fragment;  /* as in a Fragment header: the offset in the datagram, and whether more fragments follow */
	__u8 fragmented; /* it has a Fragment header */
	__u8 split;      /* another piece has the rest of the payload */
};

/* Returns whether an IPv4 packet is a fragment. */
static __always_inline bool nat46_is_fragment(const struct iphdr *ip)
{
	return ip->frag_off & bpf_htons(IPV4_MORE_FRAGMENTS | IPV4_FRAGMENT_OFFSET);
}

/* Splits what does not fit; the first piece is as large as the MTU allows. Returns a drop reason. */
static __always_inline int nat46_split(const struct iphdr *ip, struct nat46_piece *piece, __u32 mtu, bool first)
{
	const __u32 most = (mtu - IPV6_HEADER_BYTES - (__u32)sizeof(struct ipv6_extension)) & IPV6_FRAGMENT_OFFSET;

	if (ip->frag_off & bpf_htons(IPV4_DONT_FRAGMENT) || mtu < IPV6_LEAST_MTU || piece->bytes <= most ||
	    piece->bytes > 2 * most || most > NAT46_CUTS * NAT46_CUT_BYTES)
		return DROP_NOT_FORWARDABLE;
	piece->fragmented = true;
	piece->split = true;
	if (first) {
		piece->bytes = most;
		piece->fragment |= IPV6_MORE_FRAGMENTS;
	} else {
		piece->begin = most;
		piece->bytes -= most;
		piece->fragment += most;
	}
	return DROP_NONE;
}

/*
 * Fills in what the workload gets of an IPv4 packet: all of it, or one of two pieces. Returns a drop reason. first: that
 * is the first piece, where there are two.
 */
static __always_inline int nat46_piece_of(struct __sk_buff *skb, const struct iphdr *ip, struct nat46_piece *piece,
					  bool first)
{
	const __u16 fragment = bpf_ntohs(ip->frag_off);
	__u32 mtu = 0; /* of the packet's own length */

	piece->begin = 0;
	piece->bytes = bpf_ntohs(ip->tot_len) - IPV4_HEADER_BYTES;
	piece->fragment = fragment << 3 | (fragment & IPV4_MORE_FRAGMENTS ? IPV6_MORE_FRAGMENTS : 0);
	piece->fragmented = nat46_is_fragment(ip);
	piece->split = false;
	if (bpf_check_mtu(skb, 0, &mtu, piece->fragmented ? NAT46_FRAGMENT_GROWTH : NAT46_GROWTH, 0))
		return nat46_split(ip, piece, mtu, first);
	return DROP_NONE;
}

/* What the steps of a sum have in common. */
struct nat46_sum {
	struct __sk_buff *skb;
	struct judge_scratch *memory;
	__u32 offset;
	__wsum words;
};

static long nat46_sum_step(__u64 step, struct nat46_sum *sum)
{
	if (bpf_skb_load_bytes(sum->skb, sum->offset + (__u32)step * NAT46_SUM_BYTES, sum->memory, NAT46_SUM_BYTES))
		return 1;
	sum->words = bpf_csum_diff(NULL, 0, (__be32 *)sum->memory, NAT46_SUM_BYTES, sum->words);
	return 0;
}

/* Returns the sum of the words of a packet from an offset on. */
__global int nat46_sum_of(struct __sk_buff *skb, __u32 offset, __u32 bytes)
{
	struct nat46_sum sum = { .skb = skb, .memory = scratch(), .offset = offset };
	const __u32 rest = bytes % NAT46_SUM_BYTES;

	if (!sum.memory)
		return 0;
	bpf_loop(bytes / NAT46_SUM_BYTES, nat46_sum_step, &sum, 0);
	if (rest) {
		__builtin_memset(sum.memory, 0, NAT46_SUM_BYTES);
		bpf_skb_load_bytes(skb, offset + bytes - rest, sum.memory, ((rest - 1) & (NAT46_SUM_BYTES - 1)) + 1);
		sum.words = bpf_csum_diff(NULL, 0, (__be32 *)sum.memory, NAT46_SUM_BYTES, sum.words);
	}
	return words_fold(sum.words);
}

/* Returns whether two sums are equal; zero has two forms. */
static __always_inline bool sums_equal(__u16 sum, __u16 other)
{
	const __u16 difference = words_fold((__u32)sum + (__u16)~other);

	return !difference || difference == 0xffff;
}

/*
 * Completes the checksum of a packet that will be split, where that was left to a device, and has the kernel not ask a
 * device for it: that would sum up a piece. Such a packet has the sum of its pseudo header in the place of the checksum.
 * Returns whether that failed.
 */
__global int nat46_complete(struct __sk_buff *skb, const struct packet *packet, const struct iphdr *ip)
{
	__u8 start[NAT46_FORGET_BYTES];
	__u16 found, pseudo, complete;
	__u32 offset, bytes;

	if (!packet || !ip)
		return true;
	offset = rewrite_checksum_offset(packet->protocol, packet->l4_offset);
	if (!offset)
		return false;
	bytes = bpf_ntohs(ip->tot_len) - IPV4_HEADER_BYTES;
	if (bpf_skb_load_bytes(skb, offset, &found, sizeof(found)))
		return true;
	pseudo = words_fold((__u32)words_sum(&ip->saddr, 2 * sizeof(__be32)) + bpf_htons(ip->protocol) +
			    bpf_htons(bytes));
	complete = ~words_fold((__u32)(__u16)nat46_sum_of(skb, packet->l4_offset, bytes) + (__u16)~found + pseudo);
	if (!sums_equal(found, complete) && sums_equal(found, pseudo)) {
		if (packet->protocol == IPPROTO_UDP && !complete)
			complete = 0xffff;
		if (bpf_skb_store_bytes(skb, offset, &complete, sizeof(complete), BPF_F_RECOMPUTE_CSUM))
			return true;
	}
	return bpf_skb_load_bytes(skb, packet->l4_offset, start, sizeof(start)) ||
	       bpf_skb_adjust_room(skb, -NAT46_FORGET_BYTES, BPF_ADJ_ROOM_NET, BPF_F_ADJ_ROOM_NO_CSUM_RESET) ||
	       bpf_skb_adjust_room(skb, NAT46_FORGET_BYTES, BPF_ADJ_ROOM_NET, BPF_F_ADJ_ROOM_NO_CSUM_RESET) ||
	       bpf_skb_store_bytes(skb, packet->l4_offset, start, sizeof(start), BPF_F_RECOMPUTE_CSUM);
}

/* Sends the packet through to_endpoint again, as the one that becomes the first piece; returns a drop reason. */
static __always_inline int nat46_send_first(struct __sk_buff *skb, const struct packet *packet, const struct iphdr *ip)
{
	const __u32 mark = skb->mark;
	long error;

	if (!nat46_is_fragment(ip) && nat46_complete(skb, packet, ip))
		return DROP_MALFORMED;
	skb->tc_index = PACKET_FIRST_PIECE;
	skb->mark = PACKET_MARK_JUDGED;
	error = bpf_clone_redirect(skb, skb->ifindex, 0);
	packet_set_incomplete(skb);
	skb->mark = mark;
	return error ? DROP_NOT_FORWARDABLE : DROP_NONE;
}

/* Removes bytes of the payload of an IPv4 packet, from its start; returns whether that failed. */
static __always_inline bool nat46_cut(struct __sk_buff *skb, __u32 bytes)
{
	unrolled
	for (int i = 0; i < NAT46_CUTS; i++) {
		const __u32 now = bytes > NAT46_CUT_BYTES ? NAT46_CUT_BYTES : bytes;

		if (now && bpf_skb_adjust_room(skb, -(__s32)now, BPF_ADJ_ROOM_NET, BPF_F_ADJ_ROOM_NO_CSUM_RESET))
			return true;
		bytes -= now;
	}
	return false;
}

/* Leaves of an IPv4 packet what a piece has of it; returns whether that failed. */
static __always_inline bool nat46_take_piece(struct __sk_buff *skb, const struct nat46_piece *piece)
{
	if (!piece->split)
		return false;
	return piece->begin ? nat46_cut(skb, piece->begin)
			    : bpf_skb_change_tail(skb, ETH_HLEN + IPV4_HEADER_BYTES + piece->bytes, 0);
}

/*
 * Makes a piece of an IPv4 packet one of IPv6, whose header is filled in as that of the whole packet; returns whether
 * that failed.
 */
__global int nat46_store_piece(struct __sk_buff *skb, struct ipv6hdr *ip, const struct nat46_piece *piece, __be16 id_be)
{
	const __be16 ethertype = bpf_htons(ETH_P_IPV6);
	struct ipv6_extension header = {};

	if (!ip || !piece || nat46_take_piece(skb, piece) || bpf_skb_change_proto(skb, ethertype, 0))
		return true;
	if (!piece->fragmented)
		return nat46_store(skb, ip, sizeof(*ip), ethertype);
	header.next_header = ip->nexthdr;
	header.fragment_be = bpf_htons(piece->fragment);
	header.id_be = bpf_htonl(bpf_ntohs(id_be));
	ip->nexthdr = IPPROTO_FRAGMENT;
	ip->payload_len = bpf_htons(piece->bytes + sizeof(header));
	return bpf_skb_adjust_room(skb, sizeof(header), BPF_ADJ_ROOM_NET, BPF_F_ADJ_ROOM_NO_CSUM_RESET) ||
	       nat46_store(skb, ip, sizeof(*ip), ethertype) ||
	       bpf_skb_store_bytes(skb, NAT46_FRAGMENT_OFFSET, &header, sizeof(header), BPF_F_RECOMPUTE_CSUM);
}

/*
 * Answers a packet that is too large and may not be split as a router does (RFC 1191), in the place of the workload: the
 * answer enters by the interface of the workload as an ICMP error that it sends. Returns the action.
 */
__global int nat46_refuse(struct __sk_buff *skb, const struct packet *packet, const struct endpoint_entry *endpoint)
{
	__u8 macs[2 * ETH_ALEN] __attribute__((aligned(4)));
	struct answer *answer = (struct answer *)scratch();
	struct iphdr ip;
	__u32 mtu = 0; /* that of the interface, after the call */

	if (!packet || !endpoint || !answer || packet->kind == PACKET_ICMP_ERROR ||
	    bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)) || !(ip.frag_off & bpf_htons(IPV4_DONT_FRAGMENT)))
		return TC_ACT_SHOT;
	__builtin_memcpy(macs, endpoint->host_mac, ETH_ALEN);
	__builtin_memcpy(macs + ETH_ALEN, endpoint->mac, ETH_ALEN);
	bpf_check_mtu(skb, 0, &mtu, 0, 0);
	mtu -= nat46_is_fragment(&ip) ? NAT46_FRAGMENT_GROWTH : NAT46_GROWTH;
	if (!answer_make(skb, packet, answer, macs, REJECT4_TOO_BIG | (mtu & 0xffff)))
		return TC_ACT_SHOT;
	return (int)bpf_redirect(skb->ifindex, BPF_F_INGRESS);
}

#endif
