/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Parses TCP and UDP packets without IP options, extension headers and fragments in place. */
#ifndef AGENT_LIB_QUICK_PARSE_H
#define AGENT_LIB_QUICK_PARSE_H

#include "lib/parse_ipv4.h"
#include "lib/parse_ipv6.h"

struct quick_l4 {
	__be16 source_port_be;
	__be16 destination_port_be;
	struct segment segment;
};

/* Returns the offset of the L4 header in a frame that the quick parser reads. */
static __always_inline __u32 quick_l4_offset(__u8 family)
{
	return ETH_HLEN + (family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
}

/* Returns false where the slow parser must handle the packet. l4_bytes as in parse_l4. */
static __always_inline bool quick_parse_l4(struct quick_l4 *l4, const void *header, const void *data_end, __u8 protocol,
					   __u32 l4_bytes)
{
	l4->segment = (struct segment){ .protocol = protocol };
	if (likely(protocol == IPPROTO_TCP)) {
		const struct tcp_start *tcp = header;

		if (unlikely(header + TCP_HEADER_BYTES > data_end))
			return false;

		const __u32 header_bytes = (tcp->data_offset >> 4) * 4;

		l4->source_port_be = tcp->source_port_be;
		l4->destination_port_be = tcp->destination_port_be;
		l4->segment.tcp_flags = tcp->flags;
		l4->segment.sequence = bpf_ntohl(tcp->sequence_be);
		l4->segment.acknowledgement = bpf_ntohl(tcp->acknowledgement_be);
		return likely(header_bytes >= TCP_HEADER_BYTES && header_bytes <= l4_bytes);
	}
	if (protocol == IPPROTO_UDP) {
		const struct udp_start *udp = header;

		if (unlikely(header + UDP_HEADER_BYTES > data_end))
			return false;
		l4->source_port_be = udp->source_port_be;
		l4->destination_port_be = udp->destination_port_be;
		return likely(l4_bytes >= UDP_HEADER_BYTES);
	}
	return false;
}

/* Returns the IPv4 header, or NULL where the slow parser must handle the packet. */
static __always_inline struct iphdr *quick_parse_ipv4(const struct __sk_buff *skb, struct quick_l4 *l4)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct iphdr *ip = data + ETH_HLEN;

	if (unlikely((void *)(ip + 1) > data_end))
		return NULL;

	const __u32 total_bytes = bpf_ntohs(ip->tot_len);

	if (unlikely(*(__u8 *)ip != IPV4_VERSION_AND_WORDS || total_bytes < IPV4_HEADER_BYTES ||
		     total_bytes > skb->len - ETH_HLEN ||
		     ip->frag_off & bpf_htons(IPV4_MORE_FRAGMENTS | IPV4_FRAGMENT_OFFSET)))
		return NULL;
	return quick_parse_l4(l4, ip + 1, data_end, ip->protocol, total_bytes - IPV4_HEADER_BYTES) ? ip : NULL;
}

/* Returns the IPv6 header, or NULL where the slow parser must handle the packet. */
static __always_inline struct ipv6hdr *quick_parse_ipv6(const struct __sk_buff *skb, struct quick_l4 *l4)
{
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;
	struct ipv6hdr *ip = data + ETH_HLEN;

	if (unlikely((void *)(ip + 1) > data_end))
		return NULL;

	const __u32 payload_bytes = bpf_ntohs(ip->payload_len);

	if (unlikely(*(__u8 *)ip >> 4 != 6 || payload_bytes > skb->len - ETH_HLEN - IPV6_HEADER_BYTES))
		return NULL;
	return quick_parse_l4(l4, ip + 1, data_end, ip->nexthdr, payload_bytes) ? ip : NULL;
}

#endif
