/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Parses any IPv4 packet, with options, fragments, and headers outside the linear part of the skb. RFC 791. */
#ifndef AGENT_LIB_PARSE_IPV4_H
#define AGENT_LIB_PARSE_IPV4_H

#include <linux/ip.h>

#include "lib/fragment.h"
#include "lib/ip.h"
#include "lib/parse_l4.h"

#define IPV4_MORE_FRAGMENTS 0x2000
#define IPV4_FRAGMENT_OFFSET 0x1fff
#define IPV4_HEADER_BYTES 20

/* Returns the length of the IP packet in bytes, or 0 where the length field exceeds the frame. */
static __always_inline __u32 ipv4_bytes(const struct __sk_buff *skb, const struct iphdr *ip)
{
	const __u32 frame_bytes = skb->len - ETH_HLEN;
	const __u32 total_bytes = bpf_ntohs(ip->tot_len);

	if (total_bytes == 0 && skb->gso_size) /* larger than the length field (BIG TCP) */
		return frame_bytes;
	return total_bytes > frame_bytes ? 0 : total_bytes;
}

/* Parses the headers; returns a drop reason. */
__global int parse_ipv4(struct __sk_buff *skb, struct packet *packet)
{
	struct iphdr ip;
	int reason;

	if (!packet)
		return DROP_MALFORMED;
	__builtin_memset(packet, 0, sizeof(*packet));
	packet->family = FAMILY_IPV4;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
		return DROP_MALFORMED;
	packet->source.v4 = ip.saddr;
	packet->destination.v4 = ip.daddr;
	packet->protocol = ip.protocol;

	const __u32 header_bytes = ip.ihl * 4;
	const __u32 bytes = ipv4_bytes(skb, &ip);
	const __u16 fragment = bpf_ntohs(ip.frag_off);

	if (ip.version != 4 || header_bytes < IPV4_HEADER_BYTES || bytes < header_bytes)
		return DROP_MALFORMED;
	packet->l4_offset = ETH_HLEN + header_bytes;

	packet->fragment_id_be = ip.id;
	if (fragment & IPV4_FRAGMENT_OFFSET) {
		if (ip.protocol == IPPROTO_TCP && (fragment & IPV4_FRAGMENT_OFFSET) == 1)
			return DROP_MALFORMED; /* would overwrite the TCP flags of the first fragment: RFC 3128 */
		return protocol_has_ports(packet) ? fragment_recall(packet) : DROP_NONE;
	}
	reason = parse_l4(skb, packet, bytes - header_bytes);
	packet->first_fragment = fragment & IPV4_MORE_FRAGMENTS && protocol_has_ports(packet);
	return reason;
}

#endif
