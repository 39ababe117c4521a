/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Parses the packet that an ICMP error quotes; the error belongs to the flow of that packet. RFC 792, RFC 4443. */
#ifndef AGENT_LIB_ICMP_ERROR_H
#define AGENT_LIB_ICMP_ERROR_H

#include "lib/parse_ipv4.h"
#include "lib/parse_ipv6.h"

/* The start of the quoted L4 header: ports or an ICMP header. RFC 792 guarantees eight bytes of it. */
union quoted_l4 {
	struct udp_start ports;
	struct icmp_header icmp;
};

#define QUOTED_EXTENSIONS_MAX 2

static __always_inline bool quoted_parse_ipv4(struct __sk_buff *skb, struct packet *quoted, __u32 offset)
{
	struct iphdr ip;

	if (bpf_skb_load_bytes(skb, offset, &ip, sizeof(ip)))
		return false;
	if (ip.version != 4 || ip.ihl < 5 || ip.frag_off & bpf_htons(IPV4_FRAGMENT_OFFSET))
		return false;
	quoted->source.v4 = ip.saddr;
	quoted->destination.v4 = ip.daddr;
	quoted->protocol = ip.protocol;
	quoted->l4_offset = offset + ip.ihl * 4;
	return true;
}

static __always_inline bool quoted_parse_ipv6(struct __sk_buff *skb, struct packet *quoted, __u32 offset)
{
	struct ipv6_extension extension;
	struct ipv6hdr ip;

	if (bpf_skb_load_bytes(skb, offset, &ip, sizeof(ip)) || ip.version != 6)
		return false;
	__builtin_memcpy(&quoted->source, &ip.saddr, sizeof(quoted->source));
	__builtin_memcpy(&quoted->destination, &ip.daddr, sizeof(quoted->destination));
	quoted->protocol = ip.nexthdr;
	offset += IPV6_HEADER_BYTES;
	unrolled
	for (int i = 0; i < QUOTED_EXTENSIONS_MAX; i++) {
		if (!ipv6_is_extension(quoted->protocol))
			break;
		if (bpf_skb_load_bytes(skb, offset, &extension, sizeof(extension)))
			return false;
		if (quoted->protocol == IPPROTO_FRAGMENT && bpf_ntohs(extension.fragment_be) & IPV6_FRAGMENT_OFFSET)
			return false;
		offset += ipv6_extension_bytes(quoted->protocol, &extension);
		quoted->protocol = extension.next_header;
	}
	quoted->l4_offset = offset;
	return !ipv6_is_extension(quoted->protocol);
}

/* Parses the quoted packet; returns false where conntrack does not track such a packet. */
__global int quoted_parse(struct __sk_buff *skb, const struct packet *error, struct packet *quoted)
{
	if (!error || !quoted)
		return false;

	const __u32 offset = error->l4_offset + ICMP_HEADER_BYTES;
	union quoted_l4 l4;

	__builtin_memset(quoted, 0, sizeof(*quoted));
	quoted->family = error->family;
	if (error->family == FAMILY_IPV4 ? !quoted_parse_ipv4(skb, quoted, offset)
					 : !quoted_parse_ipv6(skb, quoted, offset))
		return false;
	if (!protocol_has_ports(quoted))
		return true;
	if (bpf_skb_load_bytes(skb, quoted->l4_offset, &l4, sizeof(l4)))
		return false;
	if (packet_is_icmp(quoted)) {
		quoted->icmp_type = l4.icmp.type;
		icmp_set_ports(quoted, l4.icmp.identifier_be);
		return icmp_kind(quoted->family, quoted->icmp_type) == PACKET_FLOW;
	}
	quoted->source_port_be = l4.ports.source_port_be;
	quoted->destination_port_be = l4.ports.destination_port_be;
	return true;
}

#endif
