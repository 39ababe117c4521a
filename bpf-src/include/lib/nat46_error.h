/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Translates ICMP errors about what a workload has sent to the range of NAT46 (lib/nat46.h), with the packet that they
 * quote: RFC 7915, sections 4.2 and 4.3.
 */
#ifndef AGENT_LIB_NAT46_ERROR_H
#define AGENT_LIB_NAT46_ERROR_H

#include "lib/nat46.h"
#include "lib/hairpin.h"

#define IPV6_LEAST_MTU 1280                                  /* RFC 8200 */
#define NAT46_GROWTH (IPV6_HEADER_BYTES - IPV4_HEADER_BYTES) /* of a packet that becomes one of IPv6 */

enum icmp4_unreachable_code {
	ICMP4_CODE_PROTOCOL_UNREACHABLE = 2,
	ICMP4_CODE_TOO_BIG = 4,
	ICMP4_CODE_NETWORK_PROHIBITED = 9,
	ICMP4_CODE_HOST_PROHIBITED = 10,
	ICMP4_CODE_PROHIBITED = 13,
	ICMP4_CODE_PRECEDENCE_VIOLATED = 14,
	ICMP4_CODE_PRECEDENCE_CUTOFF = 15,
};

enum icmp6_error_type {
	ICMP6_TOO_BIG = 2,
	ICMP6_TIME_EXCEEDED = 3,
	ICMP6_PARAMETER_PROBLEM = 4,
};

#define ICMP6_CODE_PROHIBITED 1
#define ICMP6_CODE_NEXT_HEADER 1 /* of a parameter problem */
#define IPV6_NEXT_HEADER_OFFSET 6

/* What the checksum covers besides the L4 header and its data: RFC 8200, section 8.1. */
struct nat46_pseudo {
	union address source;
	union address destination;
	__be32 bytes_be;
	__be32 protocol_be;
};

static __always_inline void nat46_pseudo_of(struct nat46_pseudo *pseudo, const struct ipv6hdr *ip)
{
	__builtin_memcpy(&pseudo->source, &ip->saddr, sizeof(pseudo->source));
	__builtin_memcpy(&pseudo->destination, &ip->daddr, sizeof(pseudo->destination));
	pseudo->bytes_be = bpf_htonl(bpf_ntohs(ip->payload_len));
	pseudo->protocol_be = bpf_htonl(ip->nexthdr);
}

/* Writes the address of the range in which an IPv4 address is embedded. */
static __always_inline void nat46_embed(void *to, __be32 address)
{
	const volatile __u32 *range = (const volatile __u32 *)node_config.nat46_range;
	__u32 *words = to;

	words[0] = range[0];
	words[1] = range[1];
	words[2] = range[2];
	words[3] = address;
}

/* Fills in the IPv6 header of a packet of a workload: of one to it, or of one that it has sent. */
static __always_inline void nat46_header6(struct ipv6hdr *ip, const struct iphdr *from,
					  const struct endpoint_entry *endpoint, bool to_workload)
{
	*(__be32 *)ip = bpf_htonl(6U << 28 | (__u32)from->tos << 20);
	ip->payload_len = bpf_htons(bpf_ntohs(from->tot_len) - IPV4_HEADER_BYTES);
	ip->nexthdr = from->protocol == IPPROTO_ICMP ? IPPROTO_ICMPV6 : from->protocol;
	ip->hop_limit = from->ttl;
	nat46_embed(to_workload ? &ip->saddr : &ip->daddr, to_workload ? from->saddr : from->daddr);
	ipv6_copy(to_workload ? &ip->daddr : &ip->saddr, endpoint->ipv6);
}

/* The start of an error: the message, and the IP header that it quotes. */
struct nat46_error4 {
	struct icmp_header icmp;
	struct iphdr ip;
};
_Static_assert(sizeof(struct nat46_error4) == 28, "nat46_error4");

struct nat46_error6 {
	struct icmp_header icmp;
	struct ipv6hdr ip;
};
_Static_assert(sizeof(struct nat46_error6) == 48, "nat46_error6");

/* Sets the type and the code of "destination unreachable", and what follows; returns whether it has no counterpart. */
static __always_inline bool nat46_unreachable(struct icmp_header *to, const struct icmp_header *from)
{
	__u32 mtu;

	to->type = ICMP6_UNREACHABLE;
	switch (from->code) {
	case ICMP4_CODE_PROTOCOL_UNREACHABLE:
		to->type = ICMP6_PARAMETER_PROBLEM;
		to->code = ICMP6_CODE_NEXT_HEADER;
		to->sequence_be = bpf_htons(IPV6_NEXT_HEADER_OFFSET);
		return false;
	case ICMP4_CODE_PORT_UNREACHABLE:
		to->code = ICMP6_CODE_PORT_UNREACHABLE;
		return false;
	case ICMP4_CODE_TOO_BIG:
		mtu = bpf_ntohs(from->sequence_be) + NAT46_GROWTH;
		to->type = ICMP6_TOO_BIG;
		to->sequence_be = bpf_htons(mtu < IPV6_LEAST_MTU ? IPV6_LEAST_MTU : mtu > 0xffff ? 0xffff : mtu);
		return false;
	case ICMP4_CODE_NETWORK_PROHIBITED:
	case ICMP4_CODE_HOST_PROHIBITED:
	case ICMP4_CODE_PROHIBITED:
	case ICMP4_CODE_PRECEDENCE_CUTOFF:
		to->code = ICMP6_CODE_PROHIBITED;
		return false;
	default:
		return from->code >= ICMP4_CODE_PRECEDENCE_VIOLATED;
	}
}

/* Fills in the message of an error; returns whether it has no counterpart. */
static __always_inline bool nat46_message(struct icmp_header *to, const struct icmp_header *from)
{
	__builtin_memset(to, 0, sizeof(*to));
	if (from->type == ICMP4_UNREACHABLE)
		return nat46_unreachable(to, from);
	to->type = ICMP6_TIME_EXCEEDED;
	to->code = from->code;
	return from->type != ICMP4_TIME_EXCEEDED;
}

/* As word_replace(), where the checksum of the message is not all that changes by the words: the device's does, too. */
static __always_inline bool nat46_word_replace(struct __sk_buff *skb, __u32 offset, __u16 from, __u16 to, __u32 *gained)
{
	*gained += (__u16)~from + (__u32)to;
	return bpf_skb_store_bytes(skb, offset, &to, sizeof(to), BPF_F_RECOMPUTE_CSUM);
}

/*
 * Translates the L4 header that an error quotes at an offset; returns whether that failed. difference: what its sum
 * gains by what else it covers. Adds what the words of the packet gain to *sum. What the quote has no room for stays.
 */
__global int nat46_quoted_l4(struct __sk_buff *skb, const struct ipv6hdr *ip, __u32 offset, __u32 difference,
			     __u32 *sum)
{
	const __u8 type = ICMP6_ECHO_REQUEST;
	__u16 old, checksum;
	__u32 at;

	if (!ip || !sum)
		return true;
	at = rewrite_checksum_offset(ip->nexthdr, offset);
	if (ip->nexthdr == IPPROTO_ICMPV6) {
		__u16 word;

		if (bpf_skb_load_bytes(skb, offset, &word, sizeof(word)) || word != bpf_htons(ICMP4_ECHO_REQUEST << 8))
			return true;
		if (nat46_word_replace(skb, offset, word, bpf_htons(type << 8), sum))
			return true;
		difference += (__u16)~word + (__u32)bpf_htons(type << 8);
	}
	if (!at || bpf_skb_load_bytes(skb, at, &old, sizeof(old)))
		return false;
	if (ip->nexthdr == IPPROTO_UDP && !old)
		return false;
	checksum = checksum_after(old, words_fold(difference));
	return nat46_word_replace(skb, at, old, ip->nexthdr == IPPROTO_UDP && !checksum ? 0xffff : checksum, sum);
}

/* Writes a header of the other family, and the type of its frame, over what the change of the protocol has left. */
static __always_inline bool nat46_store(struct __sk_buff *skb, const void *ip, __u32 bytes, __be16 ethertype)
{
	return bpf_skb_store_bytes(skb, ETH_HLEN, ip, bytes, BPF_F_RECOMPUTE_CSUM) ||
	       bpf_skb_store_bytes(skb, 2 * ETH_ALEN, &ethertype, sizeof(ethertype), 0);
}

/* Makes an error one of IPv6, whose header has the length of that of IPv4 still; returns a drop reason. */
__global int nat46_error_arrives(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
				 const struct packet *packet, struct ipv6hdr *ip)
{
	const __u32 further = NAT46_GROWTH; /* of the quoted packet */
	const __u32 offset = ETH_HLEN + IPV6_HEADER_BYTES;
	const __be16 ethertype = bpf_htons(ETH_P_IPV6);
	struct nat46_pseudo pseudo;
	struct nat46_error4 from;
	struct nat46_error6 to;
	__u32 sum, quoted;

	if (!endpoint || !packet || !ip)
		return DROP_MALFORMED;
	if (bpf_skb_load_bytes(skb, packet->l4_offset, &from, sizeof(from)))
		return DROP_MALFORMED;
	if (bpf_ntohs(ip->payload_len) + further > IPV6_LEAST_MTU - IPV6_HEADER_BYTES || skb->gso_size ||
	    nat46_message(&to.icmp, &from.icmp) || *(__u8 *)&from.ip != IPV4_VERSION_AND_WORDS ||
	    from.ip.saddr != *(const __be32 *)endpoint->ipv4)
		return DROP_NOT_TRANSLATABLE;
	nat46_header6(&to.ip, &from.ip, endpoint, false);
	ip->payload_len = bpf_htons(bpf_ntohs(ip->payload_len) + further);
	nat46_pseudo_of(&pseudo, ip);
	sum = (__u16)~from.icmp.checksum;
	from.icmp.checksum = 0;
	sum = bpf_csum_diff((__be32 *)&from, sizeof(from), (__be32 *)&to, sizeof(to), sum);
	sum = words_fold(bpf_csum_diff(NULL, 0, (__be32 *)&pseudo, sizeof(pseudo), sum));
	quoted = bpf_csum_diff((__be32 *)&from.ip.saddr, 2 * sizeof(__be32), (__be32 *)&to.ip.saddr,
			       2 * sizeof(union address), 0);
	if (to.ip.nexthdr == IPPROTO_ICMPV6) { /* that of IPv4 covers no addresses */
		nat46_pseudo_of(&pseudo, &to.ip);
		quoted = bpf_csum_diff(NULL, 0, (__be32 *)&pseudo, sizeof(pseudo), 0);
	}
	if (bpf_skb_change_proto(skb, ethertype, 0) ||
	    bpf_skb_adjust_room(skb, (__s32)further, BPF_ADJ_ROOM_NET, BPF_F_ADJ_ROOM_NO_CSUM_RESET) ||
	    nat46_store(skb, ip, sizeof(*ip), ethertype) ||
	    nat46_quoted_l4(skb, &to.ip, offset + sizeof(to), words_fold(quoted), &sum))
		return DROP_MALFORMED;
	to.icmp.checksum = (__u16)~words_fold(sum);
	return bpf_skb_store_bytes(skb, offset, &to, sizeof(to), BPF_F_RECOMPUTE_CSUM) ? DROP_MALFORMED : DROP_NONE;
}

#endif
