/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The translations of NAT46 (lib/nat46.h): RFC 7915, with addresses of RFC 6052. The hop limit is copied, since the
 * forwarding of the packet decrements it. What has no counterpart, or would need fragments, is dropped.
 */
#ifndef AGENT_LIB_NAT46_TRANSLATION_H
#define AGENT_LIB_NAT46_TRANSLATION_H

#include "lib/nat46_error.h"

#define NAT46_LEAST_DF 1260 /* larger IPv4 packets may not be fragmented: RFC 7915, section 5.1 */

/*
 * Writes the checksum and the type of an L4 header whose addresses change; returns whether that failed. difference: what
 * the sum of the words gains.
 */
static __always_inline bool nat46_store_l4(struct __sk_buff *skb, const struct packet *packet, __u8 type,
					   __wsum difference)
{
	const __u32 flags = BPF_F_PSEUDO_HDR | (packet->protocol == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0);
	const __u32 offset = packet_is_icmp(packet) ? packet->l4_offset + ICMP_CHECKSUM_OFFSET
						    : rewrite_checksum_offset(packet->protocol, packet->l4_offset);

	if (packet_is_icmp(packet) && bpf_skb_store_bytes(skb, packet->l4_offset, &type, 1, BPF_F_RECOMPUTE_CSUM))
		return true;
	return bpf_l4_csum_replace(skb, offset, 0, difference, flags);
}

/* Returns what the sum of an echo gains by another type. */
static __always_inline __wsum nat46_type_difference(__u8 from, __u8 to)
{
	const __be32 before = bpf_htonl((__u32)from << 24);
	const __be32 after = bpf_htonl((__u32)to << 24);

	return bpf_csum_diff((__be32 *)&before, sizeof(before), (__be32 *)&after, sizeof(after), 0);
}

/* Shows the packet as it is in IPv4; returns a drop reason. */
static __always_inline int nat46_show_ipv4(const struct endpoint_entry *endpoint, const struct packet *packet,
					   struct packet *shown)
{
	const __u8 type = packet->icmp_type;
	const bool echo = packet_is_icmp(packet);

	if (!ipv6_equals(&packet->source, endpoint->ipv6))
		return DROP_INVALID_SOURCE_ADDRESS;
	if (echo ? type != ICMP6_ECHO_REQUEST && type != ICMP6_ECHO_REPLY
		 : packet->protocol != IPPROTO_TCP && packet->protocol != IPPROTO_UDP)
		return DROP_NOT_TRANSLATABLE;
	__builtin_memcpy(shown, packet, sizeof(*shown));
	__builtin_memset(&shown->source, 0, sizeof(shown->source));
	__builtin_memset(&shown->destination, 0, sizeof(shown->destination));
	shown->source.v4 = *(const __be32 *)endpoint->ipv4;
	shown->destination.v4 = packet->destination.words[3];
	shown->family = FAMILY_IPV4;
	if (echo) {
		shown->protocol = IPPROTO_ICMP;
		shown->icmp_type = type == ICMP6_ECHO_REQUEST ? ICMP4_ECHO_REQUEST : ICMP4_ECHO_REPLY;
	}
	return DROP_NONE;
}

/*
 * Returns whether the workload has a flow of IPv4 with this tuple, whose packets would look like this one's. The
 * fast path of from_endpoint does not ask.
 */
__global int nat46_meets_ipv4(const struct packet *shown)
{
	const struct conntrack_entry *entry;
	enum conntrack_side side;

	if (!shown)
		return true;
	entry = conntrack_find(shown);
	side = packet_conntrack_side(shown) & 1;
	return entry && entry_meets_other_family(entry, shown, side, true, now_ns());
}

/* Fills in the IPv4 header of a packet; returns a drop reason. */
static __always_inline int nat46_header4(const struct packet *shown, const struct ipv6hdr *from, struct iphdr *ip)
{
	const __u32 bytes = bpf_ntohs(from->payload_len) + IPV4_HEADER_BYTES;

	if (!from->payload_len || bytes > IP_LARGEST_BYTES)
		return DROP_NOT_TRANSLATABLE;
	__builtin_memset(ip, 0, sizeof(*ip));
	ip->version = 4;
	ip->ihl = IPV4_HEADER_BYTES / 4;
	ip->tos = (__u8)(bpf_ntohl(*(const __be32 *)from) >> 20);
	ip->tot_len = bpf_htons(bytes);
	if (bytes > NAT46_LEAST_DF)
		ip->frag_off = bpf_htons(IPV4_DONT_FRAGMENT);
	else
		ip->id = (__be16)bpf_get_prandom_u32();
	ip->ttl = from->hop_limit;
	ip->protocol = shown->protocol;
	ip->saddr = shown->source.v4;
	ip->daddr = shown->destination.v4;
	ip->check = checksum_of(words_sum(ip, sizeof(*ip)));
	return DROP_NONE;
}

/* Makes a packet one of IPv4, whose header is filled in; returns a drop reason. */
__global int nat46_become_ipv4(struct __sk_buff *skb, const struct packet *packet, const struct packet *shown,
			       const struct iphdr *ip)
{
	struct nat46_pseudo before;
	__wsum difference;

	if (!packet || !shown || !ip)
		return DROP_MALFORMED;
	before.source = packet->source;
	before.destination = packet->destination;
	before.bytes_be = bpf_htonl(bpf_ntohs(ip->tot_len) - IPV4_HEADER_BYTES);
	before.protocol_be = bpf_htonl(packet->protocol);
	if (packet_is_icmp(packet)) {
		difference = bpf_csum_diff((__be32 *)&before, sizeof(before), NULL, 0,
					   nat46_type_difference(packet->icmp_type, shown->icmp_type));
	} else {
		const __be32 after[2] = { ip->saddr, ip->daddr };

		difference = bpf_csum_diff((__be32 *)&before, 2 * sizeof(union address), (__be32 *)after, sizeof(after),
					   0);
	}
	if (nat46_store_l4(skb, packet, shown->icmp_type, difference) ||
	    bpf_skb_change_proto(skb, bpf_htons(ETH_P_IP), 0) || nat46_store(skb, ip, sizeof(*ip), bpf_htons(ETH_P_IP)))
		return DROP_MALFORMED;
	return DROP_NONE;
}

/* Translates what a workload sends to the range; returns a drop reason. The packet is filled in where it is parsed. */
static __always_inline int nat46_leave(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
				       struct packet *packet)
{
	struct packet shown;
	struct ipv6hdr from;
	struct iphdr ip;
	int reason;

	__builtin_memset(packet, 0, sizeof(*packet));
	reason = parse_ipv6(skb, packet);
	if (reason || bpf_skb_load_bytes(skb, ETH_HLEN, &from, sizeof(from)))
		return reason ?: DROP_MALFORMED;
	if (packet->l4_offset != quick_l4_offset(FAMILY_IPV6) || !endpoint->has_ipv4 || !node_config.enable_ipv4 ||
	    !ENDPOINT_OPTION(CONNTRACK))
		return DROP_NOT_TRANSLATABLE;
	reason = nat46_show_ipv4(endpoint, packet, &shown);
	if (!reason)
		reason = nat46_header4(&shown, &from, &ip);
	if (!reason && nat46_meets_ipv4(&shown))
		reason = DROP_TUPLE_IN_USE;
	if (!reason)
		reason = nat46_become_ipv4(skb, packet, &shown, &ip);
	return reason;
}

/* Makes a packet that is no error one of IPv6, whose header is filled in; returns a drop reason. */
__global int nat46_become_ipv6(struct __sk_buff *skb, const struct packet *packet, const struct ipv6hdr *ip)
{
	struct nat46_pseudo after;
	__wsum difference;
	__u8 type = 0;

	if (!packet || !ip)
		return DROP_MALFORMED;
	nat46_pseudo_of(&after, ip);
	if (packet_is_icmp(packet)) {
		if (packet->icmp_type != ICMP4_ECHO_REQUEST && packet->icmp_type != ICMP4_ECHO_REPLY)
			return DROP_NOT_TRANSLATABLE;
		type = packet->icmp_type == ICMP4_ECHO_REQUEST ? ICMP6_ECHO_REQUEST : ICMP6_ECHO_REPLY;
		difference = bpf_csum_diff(NULL, 0, (__be32 *)&after, sizeof(after),
					   nat46_type_difference(packet->icmp_type, type));
	} else {
		const __be32 before[2] = { packet->source.v4, packet->destination.v4 };

		difference = bpf_csum_diff((__be32 *)before, sizeof(before), (__be32 *)&after,
					   2 * sizeof(union address), 0);
	}
	if (nat46_store_l4(skb, packet, type, difference) || bpf_skb_change_proto(skb, bpf_htons(ETH_P_IPV6), 0) ||
	    nat46_store(skb, ip, sizeof(*ip), bpf_htons(ETH_P_IPV6)))
		return DROP_MALFORMED;
	return DROP_NONE;
}

/* Returns whether the packet has a checksum, or needs none. UDP in IPv6 needs one. */
static __always_inline bool nat46_has_checksum(struct __sk_buff *skb, const struct packet *packet)
{
	__u16 checksum = 0;

	return packet->protocol != IPPROTO_UDP ||
	       (!bpf_skb_load_bytes(skb, packet->l4_offset + UDP_CHECKSUM_OFFSET, &checksum, sizeof(checksum)) &&
		checksum);
}

/* Translates what a workload gets of a flow to the range; returns a drop reason. */
static __always_inline int nat46_arrive(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					struct packet *packet)
{
	__u32 mtu = 0; /* of the packet's own length */
	struct ipv6hdr ip;
	struct iphdr from;
	int reason;

	__builtin_memset(packet, 0, sizeof(*packet));
	reason = parse_ipv4(skb, packet);
	if (reason || bpf_skb_load_bytes(skb, ETH_HLEN, &from, sizeof(from)))
		return reason ?: DROP_MALFORMED;
	if (packet->l4_offset != quick_l4_offset(FAMILY_IPV4) || !from.tot_len ||
	    from.frag_off & bpf_htons(IPV4_MORE_FRAGMENTS | IPV4_FRAGMENT_OFFSET) || !nat46_has_checksum(skb, packet) ||
	    !(packet_is_icmp(packet) || packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP))
		return DROP_NOT_TRANSLATABLE;
	if (bpf_check_mtu(skb, 0, &mtu, IPV6_HEADER_BYTES - IPV4_HEADER_BYTES, 0))
		return DROP_NOT_FORWARDABLE;
	nat46_header6(&ip, &from, endpoint, true);
	return packet->kind == PACKET_ICMP_ERROR ? nat46_error_arrives(skb, endpoint, packet, &ip)
						 : nat46_become_ipv6(skb, packet, &ip);
}

#endif
