/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Parses L4 ports, TCP flags and ICMP message types. */
#ifndef AGENT_LIB_PARSE_L4_H
#define AGENT_LIB_PARSE_L4_H

#include "lib/drop_reason.h"
#include "lib/icmp.h"

#define TCP_HEADER_BYTES 20
#define UDP_HEADER_BYTES 8
#define SCTP_HEADER_BYTES 12

/* The fields of a TCP header up to the window. */
struct tcp_start {
	__be16 source_port_be;
	__be16 destination_port_be;
	__be32 sequence_be;
	__be32 acknowledgement_be;
	__u8 data_offset; /* high four bits: header length in words */
	__u8 flags;
	__be16 window_be;
};

/* A UDP header, or the start of an SCTP header. */
struct udp_start {
	__be16 source_port_be;
	__be16 destination_port_be;
	__be16 length_be;
	__be16 checksum;
};

static __always_inline int parse_tcp(struct __sk_buff *skb, struct packet *packet, __u32 l4_bytes)
{
	struct tcp_start tcp;

	if (l4_bytes < TCP_HEADER_BYTES || bpf_skb_load_bytes(skb, packet->l4_offset, &tcp, sizeof(tcp)))
		return DROP_MALFORMED;
	if (tcp.data_offset >> 2 < TCP_HEADER_BYTES || (tcp.data_offset >> 4) * 4 > (int)l4_bytes)
		return DROP_MALFORMED;
	packet->source_port_be = tcp.source_port_be;
	packet->destination_port_be = tcp.destination_port_be;
	packet->tcp_flags = tcp.flags;
	packet->sequence = bpf_ntohl(tcp.sequence_be);
	packet->acknowledgement = bpf_ntohl(tcp.acknowledgement_be);
	return DROP_NONE;
}

static __always_inline int parse_icmp(struct __sk_buff *skb, struct packet *packet, __u32 l4_bytes)
{
	struct icmp_header icmp;

	if (l4_bytes < ICMP_HEADER_BYTES || bpf_skb_load_bytes(skb, packet->l4_offset, &icmp, sizeof(icmp)))
		return DROP_MALFORMED;
	packet->icmp_type = icmp.type;
	packet->kind = icmp_kind(packet->family, icmp.type);
	if (packet->kind == PACKET_FLOW)
		icmp_set_ports(packet, icmp.identifier_be);
	return DROP_NONE;
}

/*
 * Returns a drop reason. l4_bytes: number of bytes from the L4 header to the end of the IP packet or of its first
 * fragment.
 */
__global int parse_l4(struct __sk_buff *skb, struct packet *packet, __u32 l4_bytes)
{
	struct udp_start udp;

	if (!packet)
		return DROP_MALFORMED;

	switch (packet->protocol) {
	case IPPROTO_TCP:
		return parse_tcp(skb, packet, l4_bytes);
	case IPPROTO_UDP:
	case IPPROTO_SCTP:
		if (l4_bytes < (packet->protocol == IPPROTO_UDP ? UDP_HEADER_BYTES : SCTP_HEADER_BYTES) ||
		    bpf_skb_load_bytes(skb, packet->l4_offset, &udp, sizeof(udp)))
			return DROP_MALFORMED;
		packet->source_port_be = udp.source_port_be;
		packet->destination_port_be = udp.destination_port_be;
		return DROP_NONE;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if (!packet_is_icmp(packet))
			return DROP_UNKNOWN_PROTOCOL;
		return parse_icmp(skb, packet, l4_bytes);
	case IPPROTO_NONE:
		return DROP_UNKNOWN_PROTOCOL;
	default:
		return DROP_NONE;
	}
}

#endif
