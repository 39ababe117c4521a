/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The parsed headers of a packet. */
#ifndef AGENT_LIB_PACKET_H
#define AGENT_LIB_PACKET_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>

#include "lib/compiler.h"

#define FAMILY_IPV4 4
#define FAMILY_IPV6 6

enum tcp_flag {
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_ACK = 0x10,
};

enum packet_kind {
	PACKET_FLOW = 0,       /* tracked by conntrack */
	PACKET_STATELESS = 1,  /* policy is evaluated for each packet: ICMP messages that open no flow */
	PACKET_ICMP_ERROR = 2, /* belongs to the flow of the quoted packet */
};

union address {
	__be32 v4;
	__u8 bytes[16];
	__u32 words[4];
	__u64 halves[2];
};

/* The two ends of a packet, by which conntrack knows its flow. */
struct tuple {
	union address source;
	union address destination;
	__be16 source_port_be;
	__be16 destination_port_be;
};

/* What conntrack reads of an L4 header; the numbers of TCP in host byte order, 0 for other protocols. */
struct segment {
	__u32 sequence;
	__u32 acknowledgement;
	__u8 protocol;
	__u8 tcp_flags;
	__u8 source_side; /* enum conntrack_side and enum metrics_direction; for endpoint_follow_rewritten() alone */
	__u8 hook;
};

/*
 * An IPv4 address is in the first word, and the others are zero. An ICMP echo has its identifier as the port of the
 * side that asks, and 0 as the other's.
 */
struct packet {
	union address source;
	union address destination;
	__be16 source_port_be;
	__be16 destination_port_be;
	__u8 family;
	__u8 protocol;
	__u8 tcp_flags;
	__u8 icmp_type;
	__u32 sequence; /* of TCP, as in struct segment */
	__u32 acknowledgement;
	__u16 l4_offset;
	__u8 kind;               /* enum packet_kind */
	__u8 untracked : 1;      /* a conntrack lookup found no entry */
	__u8 first_fragment : 1; /* later fragments follow, which have no ports */
	__u8 later_fragment : 1; /* without the L4 header */
	__be32 fragment_id_be;
};

/* The first members of a packet are its tuple. */
_Static_assert(offsetof(struct packet, destination) == offsetof(struct tuple, destination) &&
		       offsetof(struct packet, source_port_be) == offsetof(struct tuple, source_port_be) &&
		       offsetof(struct packet, destination_port_be) == offsetof(struct tuple, destination_port_be),
	       "the tuple of a packet");

static __always_inline struct tuple *packet_tuple(struct packet *packet)
{
	return (struct tuple *)packet;
}

/* Index of arrays with one element for each side of a packet. */
enum packet_side {
	PACKET_SOURCE = 0,
	PACKET_DESTINATION = 1,
};

static __always_inline bool packet_is_icmp(const struct packet *packet)
{
	return packet->protocol == (packet->family == FAMILY_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

static __always_inline bool tcp_is_opening(__u8 tcp_flags)
{
	return (tcp_flags & (TCP_SYN | TCP_ACK | TCP_RST)) == TCP_SYN;
}

static __always_inline struct segment packet_segment(const struct packet *packet)
{
	return (struct segment){
		.sequence = packet->sequence,
		.acknowledgement = packet->acknowledgement,
		.protocol = packet->protocol,
		.tcp_flags = packet->tcp_flags,
	};
}

static __always_inline bool address_equals(const union address *a, const union address *b)
{
	return a->halves[0] == b->halves[0] && a->halves[1] == b->halves[1];
}

#endif
