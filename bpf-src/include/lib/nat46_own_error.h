/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Translates ICMP errors of a workload about what it has got from the range of NAT46 (lib/nat46.h), with the packet that
 * they quote: RFC 7915, sections 5.2 and 5.3. from_endpoint asks whether the workload has the flow of that packet.
 */
#ifndef AGENT_LIB_NAT46_OWN_ERROR_H
#define AGENT_LIB_NAT46_OWN_ERROR_H

#include "lib/nat46_error.h"

enum icmp6_unreachable_code {
	ICMP6_CODE_NO_ROUTE = 0,
	ICMP6_CODE_BEYOND_SCOPE = 2,
	ICMP6_CODE_ADDRESS_UNREACHABLE = 3,
};

#define ICMP4_CODE_HOST_UNREACHABLE 1

/* Sets the code of "destination unreachable"; returns whether it has no counterpart. */
static __always_inline bool nat46_own_unreachable(struct icmp_header *to, __u8 code)
{
	switch (code) {
	case ICMP6_CODE_NO_ROUTE:
	case ICMP6_CODE_BEYOND_SCOPE:
	case ICMP6_CODE_ADDRESS_UNREACHABLE:
		to->code = ICMP4_CODE_HOST_UNREACHABLE;
		return false;
	case ICMP6_CODE_PROHIBITED:
		to->code = ICMP4_CODE_HOST_PROHIBITED;
		return false;
	case ICMP6_CODE_PORT_UNREACHABLE:
		to->code = ICMP4_CODE_PORT_UNREACHABLE;
		return false;
	default:
		return true;
	}
}

/* Fills in the message of an error; returns whether it has no counterpart. */
static __always_inline bool nat46_own_message(struct icmp_header *to, const struct icmp_header *from)
{
	const __u32 mtu = (__u32)bpf_ntohs(from->identifier_be) << 16 | bpf_ntohs(from->sequence_be);

	__builtin_memset(to, 0, sizeof(*to));
	to->type = ICMP4_UNREACHABLE;
	switch (from->type) {
	case ICMP6_UNREACHABLE:
		return nat46_own_unreachable(to, from->code);
	case ICMP6_TOO_BIG:
		to->code = ICMP4_CODE_TOO_BIG;
		to->sequence_be = bpf_htons((mtu > 0xffff ? 0xffff : mtu) - NAT46_GROWTH);
		return mtu < IPV6_LEAST_MTU;
	case ICMP6_TIME_EXCEEDED:
		to->type = ICMP4_TIME_EXCEEDED;
		to->code = from->code;
		return false;
	default:
		to->code = ICMP4_CODE_PROTOCOL_UNREACHABLE;
		return from->type != ICMP6_PARAMETER_PROBLEM || from->code != ICMP6_CODE_NEXT_HEADER;
	}
}

/* Fills in the IPv4 header of what an error quotes; returns whether the workload has got no such packet. */
static __always_inline bool nat46_quoted_header4(struct iphdr *ip, const struct ipv6hdr *from,
						 const struct endpoint_entry *endpoint)
{
	union address source;

	__builtin_memcpy(&source, &from->saddr, sizeof(source));
	if (from->version != 6 || !nat46_takes(&source) || !ipv6_equals(&from->daddr, endpoint->ipv6) ||
	    (from->nexthdr != IPPROTO_TCP && from->nexthdr != IPPROTO_UDP))
		return true;
	__builtin_memset(ip, 0, sizeof(*ip));
	*(__u8 *)ip = IPV4_VERSION_AND_WORDS;
	ip->tos = (__u8)(bpf_ntohl(*(const __be32 *)from) >> 20);
	ip->tot_len = bpf_htons(bpf_ntohs(from->payload_len) + IPV4_HEADER_BYTES);
	ip->ttl = from->hop_limit;
	ip->protocol = from->nexthdr;
	ip->saddr = source.words[3];
	ip->daddr = *(const __be32 *)endpoint->ipv4;
	ip->check = checksum_finish(words_sum(ip, sizeof(*ip)));
	return false;
}

/* Makes an error of a workload one of IPv4, whose header is filled in; returns a drop reason. */
__global int nat46_error_leaves(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
				const struct packet *packet, const struct iphdr *ip)
{
	const __s32 less = NAT46_GROWTH; /* of the quoted packet */
	const __be16 ethertype = bpf_htons(ETH_P_IP);
	struct nat46_pseudo pseudo;
	struct nat46_error6 from;
	struct nat46_error4 to;
	struct ipv6hdr outer;
	__u32 sum, quoted;

	if (!endpoint || !packet || !ip || bpf_skb_load_bytes(skb, ETH_HLEN, &outer, sizeof(outer)) ||
	    bpf_skb_load_bytes(skb, packet->l4_offset, &from, sizeof(from)))
		return DROP_MALFORMED;
	if (skb->gso_size || bpf_ntohs(outer.payload_len) < sizeof(from) || nat46_own_message(&to.icmp, &from.icmp) ||
	    nat46_quoted_header4(&to.ip, &from.ip, endpoint))
		return DROP_NOT_TRANSLATABLE;
	nat46_pseudo_of(&pseudo, &outer);
	sum = (__u16)~from.icmp.checksum;
	from.icmp.checksum = 0;
	sum = bpf_csum_diff((__be32 *)&from, sizeof(from), (__be32 *)&to, sizeof(to), sum);
	sum = words_fold(bpf_csum_diff((__be32 *)&pseudo, sizeof(pseudo), NULL, 0, sum));
	quoted = bpf_csum_diff((__be32 *)&from.ip.saddr, 2 * sizeof(union address), (__be32 *)&to.ip.saddr,
			       2 * sizeof(__be32), 0);
	if (nat46_quoted_l4(skb, &from.ip, packet->l4_offset + sizeof(from), words_fold(quoted), &sum) ||
	    bpf_skb_adjust_room(skb, -less, BPF_ADJ_ROOM_NET, BPF_F_ADJ_ROOM_NO_CSUM_RESET) ||
	    bpf_skb_change_proto(skb, ethertype, 0) || nat46_store(skb, ip, sizeof(*ip), ethertype))
		return DROP_MALFORMED;
	to.icmp.checksum = (__u16)~words_fold(sum);
	return bpf_skb_store_bytes(skb, ETH_HLEN + sizeof(*ip), &to, sizeof(to), BPF_F_RECOMPUTE_CSUM) ? DROP_MALFORMED
												       : DROP_NONE;
}

#endif
