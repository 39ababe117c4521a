/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Classifies ICMP and ICMPv6 messages. RFC 792, RFC 4443, RFC 4861. */
#ifndef AGENT_LIB_ICMP_H
#define AGENT_LIB_ICMP_H

#include "lib/packet.h"

#define ICMP_HEADER_BYTES 8

enum icmp4_type {
	ICMP4_ECHO_REPLY = 0,
	ICMP4_UNREACHABLE = 3,
	ICMP4_ECHO_REQUEST = 8,
	ICMP4_TIME_EXCEEDED = 11,
	ICMP4_PARAMETER_PROBLEM = 12,
};

enum icmp6_type {
	ICMP6_UNREACHABLE = 1,
	ICMP6_ERROR_FIRST = ICMP6_UNREACHABLE, /* and packet too big, time exceeded, parameter problem */
	ICMP6_ERROR_LAST = 4,
	ICMP6_ECHO_REQUEST = 128,
	ICMP6_ECHO_REPLY = 129,
	ICMP6_MLD_FIRST = 130, /* query, report, done */
	ICMP6_NEIGHBOUR_SOLICITATION = 135,
	ICMP6_NEIGHBOUR_ADVERTISEMENT = 136,
	ICMP6_REDIRECT = 137,
	ICMP6_MLD2_REPORT = 143,
};

struct icmp_header {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be16 identifier_be;
	__be16 sequence_be;
};

static __always_inline __u8 icmp_request_type(__u8 family)
{
	return family == FAMILY_IPV4 ? ICMP4_ECHO_REQUEST : ICMP6_ECHO_REQUEST;
}

static __always_inline __u8 icmp_reply_type(__u8 family)
{
	return family == FAMILY_IPV4 ? ICMP4_ECHO_REPLY : ICMP6_ECHO_REPLY;
}

static __always_inline enum packet_kind icmp_kind(__u8 family, __u8 type)
{
	if (type == icmp_request_type(family) || type == icmp_reply_type(family))
		return PACKET_FLOW;
	if (family == FAMILY_IPV4)
		return type == ICMP4_UNREACHABLE || type == ICMP4_TIME_EXCEEDED || type == ICMP4_PARAMETER_PROBLEM
			       ? PACKET_ICMP_ERROR
			       : PACKET_STATELESS;
	return type >= ICMP6_ERROR_FIRST && type <= ICMP6_ERROR_LAST ? PACKET_ICMP_ERROR : PACKET_STATELESS;
}

/* Sets the ports of an echo request or reply: the identifier belongs to the side that asks. */
static __always_inline void icmp_set_ports(struct packet *packet, __be16 identifier_be)
{
	const bool request = packet->icmp_type == icmp_request_type(packet->family);

	packet->source_port_be = request ? identifier_be : 0;
	packet->destination_port_be = request ? 0 : identifier_be;
}

/* Returns the identifier of an echo request or reply. */
static __always_inline __be16 icmp_identifier(const struct packet *packet)
{
	return packet->source_port_be | packet->destination_port_be;
}

/* Returns whether the message is valid on its link only; the link of a workload is its veth pair. */
static __always_inline bool icmp6_is_link_control(__u8 type)
{
	return (type >= ICMP6_MLD_FIRST && type <= ICMP6_REDIRECT) || type == ICMP6_MLD2_REPORT;
}

#endif
