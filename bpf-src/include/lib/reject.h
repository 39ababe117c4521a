/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Answers a packet of a workload to a service without a backend in the place of the service, so that the client need not
 * wait: a connection is reset (RFC 9293, section 3.5.2), and the port of a datagram is unreachable (RFC 792, RFC 4443).
 */
#ifndef AGENT_LIB_REJECT_H
#define AGENT_LIB_REJECT_H

#include "lib/checksum.h"
#include "lib/endpoint_record.h"
#include "lib/host_address.h"
#include "lib/rate.h"
#include "lib/service.h"
#include "maps/reject_map.h"

#define ICMP4_CODE_PORT_UNREACHABLE 3
#define ICMP6_CODE_PORT_UNREACHABLE 4
#define REJECT_TTL 64
#define REJECTS_PER_SECOND 1000        /* to a workload; as the kernel's icmp_msgs_per_sec */
#define REJECTS_PER_SECOND_OUTSIDE 100 /* to the hosts outside that share an entry */

/* What an ICMP error says in the place of an unreachable port: its type, its code, and an MTU in the lower half. */
#define REJECT4_TOO_BIG (3 << 24 | 4 << 16) /* RFC 1191 */
#define REJECT6_TOO_BIG (2 << 24)           /* RFC 4443, section 3.2 */
#define REJECT4_TIME_EXCEEDED (11 << 24)    /* RFC 792 */
#define REJECT6_TIME_EXCEEDED (3 << 24)     /* RFC 4443, section 3.3 */

#define REJECT_QUOTED_MAX 128 /* bytes: headers with the most options, and eight of the L4 header */

struct tcp_answer {
	__be16 source_port_be;
	__be16 destination_port_be;
	__be32 sequence_be;
	__be32 acknowledgement_be;
	__u8 data_offset; /* in words of four bytes, in the upper half */
	__u8 flags;
	__be16 window_be;
	__u16 checksum;
	__be16 urgent_be;
};
_Static_assert(sizeof(struct tcp_answer) == 20, "tcp_answer");

struct icmp_answer {
	struct icmp_header header;
	__u8 quoted[REJECT_QUOTED_MAX];
};

union l4_answer {
	struct tcp_answer tcp;
	struct icmp_answer icmp;
};

/* A frame; what is before it aligns the IP header. */
struct answer {
	__u8 padding[2];
	__u8 macs[2 * ETH_ALEN];
	__be16 ethertype;
	union {
		struct {
			struct iphdr ip;
			union l4_answer l4;
		} ipv4;
		struct {
			struct ipv6hdr ip;
			union l4_answer l4;
		} ipv6;
	};
};
_Static_assert(sizeof(struct answer) <= SCRATCH_BYTES, "answer");

/* Returns how many sequence numbers a segment takes: its data, SYN and FIN (RFC 9293, section 3.4). */
static __always_inline __u32 segment_length(struct __sk_buff *skb, const struct packet *packet)
{
	const bool ipv4 = packet->family == FAMILY_IPV4;
	const __u32 offset = ETH_HLEN +
			     (ipv4 ? offsetof(struct iphdr, tot_len) : offsetof(struct ipv6hdr, payload_len));
	__u32 end = ETH_HLEN + (ipv4 ? 0 : IPV6_HEADER_BYTES);
	__be16 length_be;
	__u8 data_offset;

	if (bpf_skb_load_bytes(skb, offset, &length_be, sizeof(length_be)) ||
	    bpf_skb_load_bytes(skb, packet->l4_offset + offsetof(struct tcp_answer, data_offset), &data_offset, 1))
		return 0;
	end += bpf_ntohs(length_be);
	return end - packet->l4_offset - (data_offset >> 4) * 4 + !!(packet->tcp_flags & TCP_SYN) +
	       (packet->tcp_flags & TCP_FIN);
}

/* Writes a reset without its checksum; returns its length. */
static __always_inline __u32 reset_write(struct __sk_buff *skb, const struct packet *packet, struct tcp_answer *tcp)
{
	__builtin_memset(tcp, 0, sizeof(*tcp));
	tcp->source_port_be = packet->destination_port_be;
	tcp->destination_port_be = packet->source_port_be;
	tcp->data_offset = sizeof(*tcp) / 4 << 4;
	tcp->flags = TCP_RST;
	if (packet->tcp_flags & TCP_ACK) {
		tcp->sequence_be = bpf_htonl(packet->acknowledgement);
	} else {
		tcp->flags |= TCP_ACK;
		tcp->acknowledgement_be = bpf_htonl(packet->sequence + segment_length(skb, packet));
	}
	return sizeof(*tcp);
}

/* Writes an ICMP error without its checksum, which quotes eight bytes of the L4 header; returns its length, or 0. */
static __always_inline __u32 unreachable_write(struct __sk_buff *skb, const struct packet *packet,
					       struct icmp_answer *icmp, __u32 error)
{
	const bool ipv4 = packet->family == FAMILY_IPV4;
	__u32 l4_offset = packet->l4_offset;

	if (!is_within(l4_offset, ETH_HLEN + sizeof(struct iphdr), ETH_HLEN + sizeof(icmp->quoted) - 8))
		return 0;

	const __u32 quoted = l4_offset + 8 - ETH_HLEN;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, icmp->quoted, quoted))
		return 0;
	__builtin_memset(&icmp->header, 0, sizeof(icmp->header));
	icmp->header.type = ipv4 ? ICMP4_UNREACHABLE : ICMP6_UNREACHABLE;
	icmp->header.code = ipv4 ? ICMP4_CODE_PORT_UNREACHABLE : ICMP6_CODE_PORT_UNREACHABLE;
	if (error) {
		icmp->header.type = (__u8)(error >> 24);
		icmp->header.code = (__u8)(error >> 16);
		icmp->header.sequence_be = bpf_htons((__u16)error);
	}
	return sizeof(icmp->header) + quoted;
}

/* Writes what follows the IP header, without its checksum; returns its length, or 0. */
__global int l4_answer_write(struct __sk_buff *skb, const struct packet *packet, union l4_answer *l4, __u32 error)
{
	if (!packet || !l4)
		return 0;
	return packet->protocol == IPPROTO_TCP && !error ? reset_write(skb, packet, &l4->tcp)
							 : unreachable_write(skb, packet, &l4->icmp, error);
}

/* Returns the length of the frame, or 0. */
__global int answer_write_ipv4(struct __sk_buff *skb, const struct packet *packet, struct answer *answer, __u32 error)
{
	if (!packet || !answer)
		return 0;

	struct iphdr *ip = &answer->ipv4.ip;
	union l4_answer *l4 = &answer->ipv4.l4;
	const bool tcp = packet->protocol == IPPROTO_TCP && !error;
	__u32 bytes = l4_answer_write(skb, packet, l4, error);

	forget_range(bytes);
	if (!is_within(bytes, sizeof(struct icmp_header), sizeof(*l4)))
		return 0;
	__builtin_memset(ip, 0, sizeof(*ip));
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tot_len = bpf_htons(sizeof(*ip) + bytes);
	ip->frag_off = bpf_htons(IPV4_DONT_FRAGMENT);
	ip->ttl = REJECT_TTL;
	ip->protocol = tcp ? IPPROTO_TCP : IPPROTO_ICMP;
	ip->saddr = packet->destination.v4;
	ip->daddr = packet->source.v4;
	ip->check = checksum_finish(words_sum(ip, sizeof(*ip)));
	if (tcp)
		l4->tcp.checksum = checksum_finish(words_sum(&ip->saddr, 8) + words_sum(&l4->tcp, sizeof(l4->tcp)) +
						   bpf_htons(IPPROTO_TCP) + bpf_htons(sizeof(l4->tcp)));
	else
		l4->icmp.header.checksum = checksum_finish(words_sum(&l4->icmp, bytes & ~3U));
	return ETH_HLEN + sizeof(*ip) + bytes;
}

__global int answer_write_ipv6(struct __sk_buff *skb, const struct packet *packet, struct answer *answer, __u32 error)
{
	if (!packet || !answer)
		return 0;

	struct ipv6hdr *ip = &answer->ipv6.ip;
	union l4_answer *l4 = &answer->ipv6.l4;
	const bool tcp = packet->protocol == IPPROTO_TCP && !error;
	__u32 bytes = l4_answer_write(skb, packet, l4, error);
	__u16 checksum;

	forget_range(bytes);
	if (!is_within(bytes, sizeof(struct icmp_header), sizeof(*l4)))
		return 0;
	__builtin_memset(ip, 0, sizeof(*ip));
	ip->version = 6;
	ip->payload_len = bpf_htons(bytes);
	ip->nexthdr = tcp ? IPPROTO_TCP : IPPROTO_ICMPV6;
	ip->hop_limit = REJECT_TTL;
	copy_address(&ip->saddr, &packet->destination);
	copy_address(&ip->daddr, &packet->source);
	checksum = checksum_finish(words_sum(&ip->saddr, 2 * sizeof(union address)) + words_sum(l4, bytes & ~3U) +
				   bpf_htons(ip->nexthdr) + bpf_htons(bytes));
	if (tcp)
		l4->tcp.checksum = checksum;
	else
		l4->icmp.header.checksum = checksum;
	return ETH_HLEN + sizeof(*ip) + bytes;
}

/*
 * Makes the packet the answer to it, but for the MAC addresses; returns whether there is one: none
 * to a reset, to a later fragment, and to a packet of several segments, whose length cannot be changed.
 */
static __always_inline bool answer_make(struct __sk_buff *skb, const struct packet *packet, struct answer *answer,
					const void *macs, __u32 error)
{
	__u32 bytes;

	if (packet->later_fragment || (packet->protocol == IPPROTO_TCP && packet->tcp_flags & TCP_RST))
		return false;
	bytes = packet->family == FAMILY_IPV4 ? answer_write_ipv4(skb, packet, answer, error)
					      : answer_write_ipv6(skb, packet, answer, error);
	forget_range(bytes);
	if (!is_within(bytes, ETH_HLEN, sizeof(*answer) - sizeof(answer->padding)) ||
	    bpf_skb_change_tail(skb, bytes, 0))
		return false;
	ethernet_write(answer->macs, macs);
	answer->ethertype = skb->protocol;
	return !bpf_skb_store_bytes(skb, 0, answer->macs, bytes, BPF_F_RECOMPUTE_CSUM | BPF_F_INVALIDATE_HASH);
}

/* Returns whether the source of the packet is the frontend of a service, which might answer in its turn. */
static __always_inline bool source_is_frontend(const struct packet *packet, __u8 scope)
{
	struct end end = { .port_be = packet->source_port_be };

	if (packet->family == FAMILY_IPV4) {
		end.address[2] = END_MAPPED;
		end.address[3] = packet->source.v4;
	} else {
		copy_address(end.address, &packet->source);
	}
	return service_of(&end, packet->protocol, scope) != NULL;
}

/*
 * Returns whether the sender of a packet gets a message that refuses it: a host that is no frontend (RFC 1122, section
 * 3.2.2; RFC 4443, section 2.4), within its share of a second. endpoint_id: which endpoint it is; 0: it is outside.
 */
__global int reject_is_due(const struct packet *packet, __u32 endpoint_id)
{
	struct share_rate *rate;
	__u32 index;

	if (!packet || !packet_is_of_hosts(packet) ||
	    source_is_frontend(packet, endpoint_id ? SERVICE_INSIDE : SERVICE_OUTSIDE))
		return false;
	index = endpoint_id & (REJECT_RATES - 1);
	if (!endpoint_id)
		index = REJECT_RATES |
			(outside_client(packet->source.halves) >> 52 & (REJECT_RATES - 1)); /* what all bits change */
	rate = bpf_map_lookup_elem(&reject_rates, &index);
	return rate && !rate_exceeds(rate, endpoint_id ? REJECTS_PER_SECOND : REJECTS_PER_SECOND_OUTSIDE);
}

/* Hands an answer to the workload that has sent the packet. */
static __always_inline int answer_deliver(struct __sk_buff *skb, const struct endpoint_entry *endpoint)
{
	return packet_is_translated(skb) ? deliver_to_translation(skb, endpoint->ifindex)
					 : (int)bpf_redirect_peer(endpoint->ifindex, 0);
}

/* Makes the packet the answer to it, and hands that to the workload; returns the action, or TC_ACT_SHOT. */
__global int packet_reject(struct __sk_buff *skb, const struct packet *packet, const struct endpoint_entry *endpoint)
{
	struct answer *answer = (struct answer *)scratch();

	if (!packet || !endpoint || !answer || !reject_is_due(packet, endpoint->endpoint_id) ||
	    !answer_make(skb, packet, answer, endpoint->mac, 0))
		return TC_ACT_SHOT;
	return answer_deliver(skb, endpoint);
}

/*
 * Makes the packet the answer to it, and sends that back by its device; returns the action, or TC_ACT_SHOT. error: an
 * ICMP error as above, or 0 for what refuses a connection or a datagram.
 */
__global int packet_answer_back(struct __sk_buff *skb, const struct packet *packet, __u32 error)
{
	struct answer *answer = (struct answer *)scratch();
	__u8 macs[2 * ETH_ALEN] __attribute__((aligned(4)));

	if (!packet || !answer || !reject_is_due(packet, 0) || bpf_skb_load_bytes(skb, ETH_ALEN, macs, ETH_ALEN) ||
	    bpf_skb_load_bytes(skb, 0, macs + ETH_ALEN, ETH_ALEN) || !answer_make(skb, packet, answer, macs, error))
		return TC_ACT_SHOT;
	return (int)bpf_redirect(skb->ifindex, 0);
}

#endif
