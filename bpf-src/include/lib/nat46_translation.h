/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The translations of NAT46 (lib/nat46.h): RFC 7915, with addresses of RFC 6052. The hop limit is copied, since the
 * forwarding of the packet decrements it. What has no counterpart is dropped.
 */
#ifndef AGENT_LIB_NAT46_TRANSLATION_H
#define AGENT_LIB_NAT46_TRANSLATION_H

#include "lib/nat46_fragment.h"
#include "lib/nat46_own_error.h"

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

/*
 * Returns whether the packet is a fragment. The checksum of ICMPv6 covers the length of the datagram, which that of ICMP
 * does not, and no fragment knows it.
 */
static __always_inline bool packet_is_part(const struct packet *packet)
{
	return packet->first_fragment || packet->later_fragment;
}

/* Shows the packet as it is in IPv4; returns a drop reason. */
static __always_inline int nat46_show_ipv4(const struct endpoint_entry *endpoint, const struct packet *packet,
					   struct packet *shown)
{
	const __u8 type = packet->icmp_type;
	const bool icmp = packet_is_icmp(packet);
	const bool error = packet->kind == PACKET_ICMP_ERROR;

	if (!ipv6_equals(&packet->source, endpoint->ipv6))
		return DROP_INVALID_SOURCE_ADDRESS;
	if (icmp ? (type != ICMP6_ECHO_REQUEST && type != ICMP6_ECHO_REPLY && !error) || packet_is_part(packet)
		 : packet->protocol != IPPROTO_TCP && packet->protocol != IPPROTO_UDP)
		return DROP_NOT_TRANSLATABLE;
	__builtin_memcpy(shown, packet, sizeof(*shown));
	__builtin_memset(&shown->source, 0, sizeof(shown->source));
	__builtin_memset(&shown->destination, 0, sizeof(shown->destination));
	shown->source.v4 = *(const __be32 *)endpoint->ipv4;
	shown->destination.v4 = packet->destination.words[3];
	shown->family = FAMILY_IPV4;
	if (icmp) {
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

/*
 * Fills in the IPv4 header of a packet; returns a drop reason. fragment: its Fragment header, where it has
 * one.
 */
static __always_inline int nat46_header4(const struct packet *shown, const struct ipv6hdr *from,
					 const struct ipv6_extension *fragment, struct iphdr *ip)
{
	const __u32 quoted = shown->kind == PACKET_ICMP_ERROR ? NAT46_GROWTH : 0;
	const __u32 bytes = bpf_ntohs(from->payload_len) + IPV4_HEADER_BYTES - quoted;
	const __u16 offset = bpf_ntohs(fragment->fragment_be);

	if (!from->payload_len || bytes > IP_LARGEST_BYTES)
		return DROP_NOT_TRANSLATABLE;
	__builtin_memset(ip, 0, sizeof(*ip));
	ip->version = 4;
	ip->ihl = IPV4_HEADER_BYTES / 4;
	ip->tos = (__u8)(bpf_ntohl(*(const __be32 *)from) >> 20);
	ip->tot_len = bpf_htons(bytes);
	if (from->nexthdr == IPPROTO_FRAGMENT) {
		ip->tot_len = bpf_htons(bytes - sizeof(*fragment));
		ip->id = bpf_htons((__u16)bpf_ntohl(fragment->id_be));
		ip->frag_off = bpf_htons(offset >> 3 | (offset & IPV6_MORE_FRAGMENTS ? IPV4_MORE_FRAGMENTS : 0));
	} else if (bytes > NAT46_LEAST_DF) {
		ip->frag_off = bpf_htons(IPV4_DONT_FRAGMENT);
	} else {
		ip->id = (__be16)bpf_get_prandom_u32();
	}
	ip->ttl = from->hop_limit;
	ip->protocol = shown->protocol;
	ip->saddr = shown->source.v4;
	ip->daddr = shown->destination.v4;
	ip->check = checksum_finish(words_sum(ip, sizeof(*ip)));
	return DROP_NONE;
}

/*
 * Makes a packet one of IPv4, whose header is filled in; returns a drop reason. extensions: bytes of the Fragment header,
 * or 0.
 */
__global int nat46_become_ipv4(struct __sk_buff *skb, const struct packet *packet, const struct packet *shown,
			       const struct iphdr *ip, __u32 extensions)
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
	if ((!packet->later_fragment && nat46_store_l4(skb, packet, shown->icmp_type, difference)) ||
	    bpf_skb_change_proto(skb, bpf_htons(ETH_P_IP), 0) ||
	    (extensions && bpf_skb_adjust_room(skb, -(__s32)sizeof(struct ipv6_extension), BPF_ADJ_ROOM_NET,
					       BPF_F_ADJ_ROOM_NO_CSUM_RESET)) ||
	    nat46_store(skb, ip, sizeof(*ip), bpf_htons(ETH_P_IP)))
		return DROP_MALFORMED;
	return DROP_NONE;
}

/*
 * Reads the headers of a packet that a workload sends to the range; returns a drop reason. The fragments of IPv4 are
 * those that from_endpoint knows, so that a later one needs no first one here.
 */
static __always_inline int nat46_read(struct __sk_buff *skb, struct packet *packet, struct ipv6hdr *ip,
				      struct ipv6_extension *fragment)
{
	__u32 l4_offset = quick_l4_offset(FAMILY_IPV6);
	int reason;

	__builtin_memset(packet, 0, sizeof(*packet));
	__builtin_memset(fragment, 0, sizeof(*fragment));
	reason = parse_ipv6(skb, packet);
	if (reason && reason != DROP_FRAGMENT_NOT_FOUND)
		return reason;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, ip, sizeof(*ip)))
		return DROP_MALFORMED;
	if (ip->nexthdr == IPPROTO_FRAGMENT) {
		if (bpf_skb_load_bytes(skb, NAT46_FRAGMENT_OFFSET, fragment, sizeof(*fragment)))
			return DROP_MALFORMED;
		if (skb->gso_size)
			return DROP_NOT_TRANSLATABLE;
		l4_offset += sizeof(*fragment);
		packet->later_fragment = !!(fragment->fragment_be & bpf_htons(IPV6_FRAGMENT_OFFSET));
		if (packet->later_fragment)
			packet->l4_offset = l4_offset;
	}
	return packet->l4_offset == l4_offset ? DROP_NONE : DROP_NOT_TRANSLATABLE;
}

/* Translates what a workload sends to the range; returns a drop reason. The packet is filled in where it is parsed. */
static __always_inline int nat46_leave(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
				       struct packet *packet)
{
	struct ipv6_extension fragment;
	struct packet shown;
	struct ipv6hdr from;
	struct iphdr ip;
	int reason = nat46_read(skb, packet, &from, &fragment);

	if (reason)
		return reason;
	if (!endpoint->has_ipv4 || !node_config.enable_ipv4 || !ENDPOINT_OPTION(CONNTRACK))
		return DROP_NOT_TRANSLATABLE;
	reason = nat46_show_ipv4(endpoint, packet, &shown);
	if (!reason)
		reason = nat46_header4(&shown, &from, &fragment, &ip);
	if (reason)
		return reason;
	if (packet->kind == PACKET_ICMP_ERROR)
		return from.nexthdr == IPPROTO_FRAGMENT ? DROP_NOT_TRANSLATABLE
							: nat46_error_leaves(skb, endpoint, packet, &ip);
	if (!packet->later_fragment && nat46_meets_ipv4(&shown))
		return DROP_TUPLE_IN_USE;
	return nat46_become_ipv4(skb, packet, &shown, &ip, from.nexthdr == IPPROTO_FRAGMENT);
}

/*
 * Makes a piece of a packet that is no error one of IPv6, whose header is filled in as that of the whole packet; returns a
 * drop reason. The first piece of a datagram has the L4 header.
 */
__global int nat46_become_ipv6(struct __sk_buff *skb, const struct packet *packet, struct ipv6hdr *ip,
			       const struct nat46_piece *piece, __be16 id_be)
{
	struct nat46_pseudo after;
	__wsum difference;
	__u8 type = 0;

	if (!packet || !ip || !piece)
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
	if ((!(piece->fragment & IPV6_FRAGMENT_OFFSET) && nat46_store_l4(skb, packet, type, difference)) ||
	    nat46_store_piece(skb, ip, piece, id_be))
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

/* Returns whether an IPv4 packet has a counterpart, as far as its headers show; fragments of echo have none. */
static __always_inline bool nat46_has_counterpart(struct __sk_buff *skb, const struct packet *packet,
						  const struct iphdr *ip)
{
	const bool fragment = nat46_is_fragment(ip);

	if (packet->l4_offset != quick_l4_offset(FAMILY_IPV4) || !ip->tot_len || (fragment && skb->gso_size))
		return false;
	if (packet_is_icmp(packet))
		return !fragment;
	return (packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP) &&
	       (packet->later_fragment || nat46_has_checksum(skb, packet));
}

/*
 * Translates what a workload gets of a flow to the range; returns a drop reason. It is judged, and may have the address
 * of a service since: no first fragment is asked for. The second of two pieces sends the first one before it.
 */
static __always_inline int nat46_arrive(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					struct packet *packet)
{
	const bool first = packet_is_first_piece(skb);
	struct nat46_piece piece;
	struct ipv6hdr ip;
	struct iphdr from;
	int reason;

	packet_set_incomplete(skb);
	__builtin_memset(packet, 0, sizeof(*packet));
	reason = parse_ipv4(skb, packet);
	if (reason && reason != DROP_FRAGMENT_NOT_FOUND)
		return reason;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &from, sizeof(from)))
		return DROP_MALFORMED;
	packet->later_fragment = !!(from.frag_off & bpf_htons(IPV4_FRAGMENT_OFFSET));
	if (!nat46_has_counterpart(skb, packet, &from))
		return DROP_NOT_TRANSLATABLE;
	reason = nat46_piece_of(skb, &from, &piece, first);
	if (reason)
		return reason;
	nat46_header6(&ip, &from, endpoint, true);
	if (packet->kind == PACKET_ICMP_ERROR)
		return piece.split ? DROP_NOT_TRANSLATABLE : nat46_error_arrives(skb, endpoint, packet, &ip);
	if (piece.begin)
		reason = nat46_send_first(skb, packet, &from);
	return reason ?: nat46_become_ipv6(skb, packet, &ip, &piece, from.id);
}

#endif
