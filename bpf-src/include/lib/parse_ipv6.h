/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Parses any IPv6 packet with a bounded number of extension headers. RFC 8200. */
#ifndef AGENT_LIB_PARSE_IPV6_H
#define AGENT_LIB_PARSE_IPV6_H

#include <linux/ipv6.h>

#include "lib/fragment.h"
#include "lib/parse_l4.h"

#define IPV6_HEADER_BYTES 40
#define IPV6_EXTENSIONS_MAX 6
#define IPV6_MORE_FRAGMENTS 0x0001
#define IPV6_FRAGMENT_OFFSET 0xfff8
#define IPV6_LINK_LOCAL 0xfe80
#define IPV6_LINK_LOCAL_MASK 0xffc0

/* The first eight bytes of an extension header; the last six are valid in a fragment header only. */
struct ipv6_extension {
	__u8 next_header;
	__u8 length; /* in units of 8 bytes, excluding the first; for AH in units of 4 bytes, excluding the first two */
	__be16 fragment_be;
	__be32 id_be;
};

static __always_inline bool ipv6_is_link_local(const union address *address)
{
	return (bpf_ntohs(*(const __be16 *)address->bytes) & IPV6_LINK_LOCAL_MASK) == IPV6_LINK_LOCAL;
}

static __always_inline bool ipv6_is_unspecified(const union address *address)
{
	return !address->halves[0] && !address->halves[1];
}

/* Returns the payload length in bytes, or -1 where the length field exceeds the frame. */
static __always_inline int ipv6_payload_bytes(const struct __sk_buff *skb, const struct ipv6hdr *ip)
{
	const int frame_bytes = (int)skb->len - ETH_HLEN - IPV6_HEADER_BYTES;
	const int payload_bytes = bpf_ntohs(ip->payload_len);

	if (payload_bytes == 0 && skb->gso_size) /* larger than the length field (BIG TCP) */
		return frame_bytes;
	return payload_bytes > frame_bytes ? -1 : payload_bytes;
}

static __always_inline bool ipv6_is_extension(__u8 protocol)
{
	return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING || protocol == IPPROTO_FRAGMENT ||
	       protocol == IPPROTO_DSTOPTS || protocol == IPPROTO_AH;
}

static __always_inline __u32 ipv6_extension_bytes(__u8 protocol, const struct ipv6_extension *extension)
{
	switch (protocol) {
	case IPPROTO_FRAGMENT:
		return sizeof(*extension);
	case IPPROTO_AH:
		return (extension->length + 2) * 4;
	default:
		return (extension->length + 1) * 8;
	}
}

/* Reads the stored ports of a later fragment; drops it where further extension headers precede the L4 header. */
static __always_inline int ipv6_later_fragment(struct packet *packet, const struct ipv6_extension *extension)
{
	packet->protocol = extension->next_header;
	if (ipv6_is_extension(packet->protocol))
		return DROP_FRAGMENT_NOT_FOUND;
	if (packet->protocol == IPPROTO_TCP && (bpf_ntohs(extension->fragment_be) & IPV6_FRAGMENT_OFFSET) == 8)
		return DROP_MALFORMED; /* would overwrite the TCP flags of the first fragment: RFC 3128 */
	return protocol_has_ports(packet) ? fragment_recall(packet) : DROP_NONE;
}

/* Parses the headers; returns a drop reason. */
__global int parse_ipv6(struct __sk_buff *skb, struct packet *packet)
{
	__u32 offset = ETH_HLEN + IPV6_HEADER_BYTES;
	struct ipv6_extension extension;
	bool fragmented = false;
	struct ipv6hdr ip;
	int payload_bytes;
	int reason;

	if (!packet)
		return DROP_MALFORMED;
	__builtin_memset(packet, 0, sizeof(*packet));
	packet->family = FAMILY_IPV6;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
		return DROP_MALFORMED;
	__builtin_memcpy(&packet->source, &ip.saddr, sizeof(packet->source));
	__builtin_memcpy(&packet->destination, &ip.daddr, sizeof(packet->destination));
	packet->protocol = ip.nexthdr;
	payload_bytes = ipv6_payload_bytes(skb, &ip);
	if (ip.version != 6 || payload_bytes < 0)
		return DROP_MALFORMED;

	const __u32 end = offset + payload_bytes;

	unrolled
	for (int i = 0; i < IPV6_EXTENSIONS_MAX; i++) {
		if (!ipv6_is_extension(packet->protocol))
			break;
		if (packet->protocol == IPPROTO_HOPOPTS && i > 0)
			return DROP_MALFORMED;
		if (offset + sizeof(extension) > end || bpf_skb_load_bytes(skb, offset, &extension, sizeof(extension)))
			return DROP_MALFORMED;
		if (packet->protocol == IPPROTO_FRAGMENT) {
			const __u16 fragment = bpf_ntohs(extension.fragment_be);

			packet->fragment_id_be = extension.id_be;
			if (fragment & IPV6_FRAGMENT_OFFSET)
				return ipv6_later_fragment(packet, &extension);
			fragmented = fragment & IPV6_MORE_FRAGMENTS;
		}
		offset += ipv6_extension_bytes(packet->protocol, &extension);
		packet->protocol = extension.next_header;
	}
	if (ipv6_is_extension(packet->protocol))
		return DROP_EXTENSION_HEADERS;
	if (offset > end)
		return DROP_MALFORMED;

	packet->l4_offset = offset;
	reason = parse_l4(skb, packet, end - offset);
	packet->first_fragment = fragmented && protocol_has_ports(packet);
	return reason;
}

#endif
