/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Parses the packets that the load balancer sends to a backend: TCP, UDP and SCTP in frames without VLAN tags, without
 * IPv4 options, IPv6 extension headers and fragmentation, and ICMP errors that quote such a packet. All others are left
 * to the stack.
 */
#ifndef AGENT_LIB_BALANCED_PACKET_H
#define AGENT_LIB_BALANCED_PACKET_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "lib/checksum.h"
#include "lib/drop_reason.h"
#include "lib/host_address.h"
#include "lib/icmp.h"
#include "lib/ip.h"
#include "lib/service.h"
#include "maps/balancer_map.h"

#define TCP_LEAST_BYTES 20
#define L4_LEAST_BYTES 8
#define L4_QUOTED_BYTES 4 /* the ports */

struct balanced {
	struct balancer_flow_key key; /* of an ICMP error: that of the quoted packet's client */
	__u32 bytes;                  /* of the IP packet */
	__be16 id_be;                 /* of IPv4 */
	__u8 ipv4;
	__u8 tcp_flags;
	__u8 traffic_class;
	__u8 hops;
	__u8 dont_fragment; /* of IPv4 */
	__u8 error;
};

/* The start of a TCP header; the first words are those of UDP and SCTP, too. */
struct l4_start {
	__be16 source_port_be;
	__be16 destination_port_be;
	__be32 words[2];
	__u8 data_offset;
	__u8 flags;
	__u8 others[6];
};
_Static_assert(sizeof(struct l4_start) == TCP_LEAST_BYTES, "l4_start");

static __always_inline bool protocol_is_balanced(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;
}

/* Copies a number of words that is constant; the packet may not be aligned to them, which the kernel allows. */
static __always_inline void copy_words(void *to, const void *from, int count)
{
	unrolled
	for (int i = 0; i < count; i++)
		((__u32 *)to)[i] = ((const __u32 *)from)[i];
}

static __always_inline void map_ipv4(void *to, __be32 address)
{
	__u32 *words = to;

	words[0] = 0;
	words[1] = 0;
	words[2] = END_MAPPED;
	words[3] = address;
}

/* Reads the ports; returns whether the packet has them. */
static __always_inline bool balanced_parse_l4(const struct l4_start *l4, const void *data_end, struct balanced *packet)
{
	if ((const void *)l4 + L4_LEAST_BYTES > data_end)
		return false;
	packet->key.client_port_be = l4->source_port_be;
	packet->key.frontend_port_be = l4->destination_port_be;
	if (packet->key.protocol != IPPROTO_TCP)
		return true;
	if ((const void *)(l4 + 1) > data_end)
		return false;
	packet->tcp_flags = l4->flags;
	return true;
}

/* Reads the ports of a packet that the backend has sent. */
static __always_inline bool balanced_parse_quoted_l4(const struct l4_start *l4, const void *data_end,
						     struct balanced *packet)
{
	if ((const void *)l4 + L4_QUOTED_BYTES > data_end)
		return false;
	packet->error = true;
	packet->key.client_port_be = l4->destination_port_be;
	packet->key.frontend_port_be = l4->source_port_be;
	return true;
}

static __always_inline bool balanced_parse_error4(const struct iphdr *ip, const void *data_end, struct balanced *packet)
{
	const struct icmp_header *icmp = (const void *)(ip + 1);
	const struct iphdr *quoted = (const void *)(icmp + 1);

	if ((const void *)(quoted + 1) > data_end || icmp_kind(FAMILY_IPV4, icmp->type) != PACKET_ICMP_ERROR)
		return false;
	if (*(const __u8 *)quoted != IPV4_VERSION_AND_WORDS || !protocol_is_balanced(quoted->protocol) ||
	    quoted->frag_off & ~bpf_htons(IPV4_DONT_FRAGMENT) || quoted->saddr != ip->daddr)
		return false;
	map_ipv4(packet->key.client, quoted->daddr);
	packet->key.protocol = quoted->protocol;
	return balanced_parse_quoted_l4((const void *)(quoted + 1), data_end, packet);
}

/* Returns whether the balancer may take the packet. */
static __always_inline bool balanced_parse_ipv4(const struct iphdr *ip, const void *data_end, struct balanced *packet)
{
	if ((const void *)(ip + 1) > data_end || *(const __u8 *)ip != IPV4_VERSION_AND_WORDS ||
	    ip->frag_off & ~bpf_htons(IPV4_DONT_FRAGMENT))
		return false;
	packet->ipv4 = true;
	packet->bytes = bpf_ntohs(ip->tot_len);
	packet->id_be = ip->id;
	packet->traffic_class = ip->tos;
	packet->hops = ip->ttl;
	packet->dont_fragment = !!ip->frag_off;
	map_ipv4(packet->key.frontend, ip->daddr);
	if (ip->protocol == IPPROTO_ICMP)
		return balanced_parse_error4(ip, data_end, packet);
	map_ipv4(packet->key.client, ip->saddr);
	packet->key.protocol = ip->protocol;
	return protocol_is_balanced(ip->protocol) && balanced_parse_l4((const void *)(ip + 1), data_end, packet);
}

static __always_inline bool balanced_parse_error6(const struct ipv6hdr *ip, const void *data_end,
						  struct balanced *packet)
{
	const struct icmp_header *icmp = (const void *)(ip + 1);
	const struct ipv6hdr *quoted = (const void *)(icmp + 1);

	if ((const void *)(quoted + 1) > data_end || icmp_kind(FAMILY_IPV6, icmp->type) != PACKET_ICMP_ERROR)
		return false;
	if (quoted->version != 6 || !protocol_is_balanced(quoted->nexthdr) ||
	    !address_equals((const union address *)&quoted->saddr, (const union address *)&ip->daddr))
		return false;
	copy_words(packet->key.client, &quoted->daddr, 4);
	packet->key.protocol = quoted->nexthdr;
	return balanced_parse_quoted_l4((const void *)(quoted + 1), data_end, packet);
}

/* Returns whether the balancer may take the packet. */
static __always_inline bool balanced_parse_ipv6(const struct ipv6hdr *ip, const void *data_end, struct balanced *packet)
{
	if ((const void *)(ip + 1) > data_end || ip->version != 6)
		return false;
	packet->bytes = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	packet->traffic_class = bpf_ntohl(*(const __be32 *)ip) >> 20;
	packet->hops = ip->hop_limit;
	copy_words(packet->key.frontend, &ip->daddr, 4);
	if (ip->nexthdr == IPPROTO_ICMPV6)
		return balanced_parse_error6(ip, data_end, packet);
	copy_words(packet->key.client, &ip->saddr, 4);
	packet->key.protocol = ip->nexthdr;
	return protocol_is_balanced(ip->nexthdr) && balanced_parse_l4((const void *)(ip + 1), data_end, packet);
}

/* Returns the drop reason of a packet to a service that no host has sent, or whose header is not intact. */
static __always_inline enum drop_reason balanced_verify(const struct xdp_md *context, const struct balanced *packet)
{
	const void *data_end = (void *)(long)context->data_end;
	const struct ethhdr *frame = (void *)(long)context->data;
	const struct iphdr *ip = (const void *)(frame + 1);
	const struct ipv6hdr *ip6 = (const void *)(frame + 1);

	if (!packet->ipv4) {
		if (unlikely((const void *)(ip6 + 1) > data_end))
			return DROP_MALFORMED;
		return likely(ipv6_is_of_host((const union address *)&ip6->saddr)) ? DROP_NONE : DROP_INVALID_ADDRESS;
	}
	if (unlikely((const void *)(ip + 1) > data_end || ipv4_header_checksum(ip)))
		return DROP_MALFORMED; /* a router has to verify the checksum: RFC 1812, section 5.2.2 */
	return likely(ipv4_is_of_host(ip->saddr)) ? DROP_NONE : DROP_INVALID_ADDRESS;
}

#endif
