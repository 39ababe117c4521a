/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Neighbour discovery between a workload and this node, RFC 4861. The programs answer for the gateway and for the
 * node's own address; other messages of the workload reach this node only, and it receives those of this node only.
 */
#ifndef AGENT_LIB_ND_H
#define AGENT_LIB_ND_H

#include "config/node_config.h"
#include "lib/arp.h"
#include "lib/checksum.h"
#include "lib/flow.h"

#define ND_HOP_LIMIT 255
#define ND_OPTION_SOURCE_MAC 1
#define ND_OPTION_TARGET_MAC 2
#define ND_FLAGS_ROUTER_SOLICITED_OVERRIDE bpf_htonl(0xe0000000)

struct nd_message {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 flags;
	__u8 target[16];
	__u8 option_type;
	__u8 option_units; /* in units of 8 bytes */
	__u8 option_mac[ETH_ALEN];
};
_Static_assert(sizeof(struct nd_message) == 32, "nd_message");

#define ND_SOLICITATION_BYTES offsetof(struct nd_message, option_type)

/* The pseudo-header of RFC 4443 followed by the message, so that one call computes the checksum of both. */
struct nd_pseudo {
	__u8 source[16];
	__u8 destination[16];
	__be32 bytes;
	__be32 protocol;
	struct nd_message message;
};

static __always_inline bool ipv6_equals(const void *a, const volatile void *b)
{
	const __u32 *left = a;
	const volatile __u32 *right = b;

	return left[0] == right[0] && left[1] == right[1] && left[2] == right[2] && left[3] == right[3];
}

static __always_inline void ipv6_copy(void *to, const volatile void *from)
{
	__u32 *left = to;
	const volatile __u32 *right = from;

	unrolled
	for (int i = 0; i < 4; i++)
		left[i] = right[i];
}

/* Returns whether the workload asks for an address by which it may reach this node. */
static __always_inline bool nd_asks_for_node(const __u8 *target)
{
	return ipv6_equals(target, node_config.gateway6) || ipv6_equals(target, node_config.node6);
}

/* Rewrites the solicitation to an advertisement of its target and redirects it to the workload. */
__local int nd_answer(struct __sk_buff *skb, const struct packet *packet, const struct endpoint_entry *endpoint,
		      const __u8 *target)
{
	const __u32 frame_bytes = ETH_HLEN + IPV6_HEADER_BYTES + sizeof(struct nd_message);
	struct nd_pseudo pseudo = {
		.bytes = bpf_htonl(sizeof(struct nd_message)),
		.protocol = bpf_htonl(IPPROTO_ICMPV6),
		.message = {
			.type = ICMP6_NEIGHBOUR_ADVERTISEMENT,
			.flags = ND_FLAGS_ROUTER_SOLICITED_OVERRIDE,
			.option_type = ND_OPTION_TARGET_MAC,
			.option_units = 1,
		},
	};
	struct ipv6hdr ip = {
		.version = 6,
		.payload_len = bpf_htons(sizeof(struct nd_message)),
		.nexthdr = IPPROTO_ICMPV6,
		.hop_limit = ND_HOP_LIMIT,
	};
	__u8 macs[2 * ETH_ALEN];

	ipv6_copy(pseudo.source, target);
	ipv6_copy(pseudo.destination, &packet->source);
	ipv6_copy(pseudo.message.target, target);
	mac_copy(pseudo.message.option_mac, endpoint->host_mac);
	pseudo.message.checksum = checksum_finish(words_sum(&pseudo, sizeof(pseudo)));
	__builtin_memcpy(&ip.saddr, pseudo.source, 32);
	mac_copy(macs, endpoint->mac);
	mac_copy(macs + ETH_ALEN, endpoint->host_mac);

	if (bpf_skb_change_tail(skb, frame_bytes, 0) || bpf_skb_store_bytes(skb, 0, macs, sizeof(macs), 0) ||
	    bpf_skb_store_bytes(skb, ETH_HLEN, &ip, sizeof(ip), 0) ||
	    bpf_skb_store_bytes(skb, ETH_HLEN + IPV6_HEADER_BYTES, &pseudo.message, sizeof(pseudo.message), 0))
		return action_drop(DROP_MALFORMED);
	return (int)bpf_redirect(endpoint->ifindex, 0);
}

static __always_inline bool nd_hop_limit_is_valid(struct __sk_buff *skb)
{
	__u8 hop_limit;

	return !bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, hop_limit), &hop_limit, 1) &&
	       hop_limit == ND_HOP_LIMIT;
}

/*
 * Reads and validates a message of the workload by RFC 4861, section 7.1: it has no option, or the link-layer address
 * of the sender. The frame must end there, so that the message cannot carry other data.
 */
static __always_inline bool nd_read(struct __sk_buff *skb, const struct packet *packet,
				    const struct endpoint_entry *endpoint, struct nd_message *message)
{
	const __u32 offset = ETH_HLEN + IPV6_HEADER_BYTES;
	const bool verify = endpoint->options & OPTION_SOURCE_IP_VERIFICATION;
	__be16 bytes_be;

	if (packet->l4_offset != offset || !nd_hop_limit_is_valid(skb) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, payload_len), &bytes_be, 2) ||
	    skb->len != offset + bpf_ntohs(bytes_be))
		return false;
	if (bytes_be == bpf_htons(ND_SOLICITATION_BYTES))
		return !bpf_skb_load_bytes(skb, offset, message, ND_SOLICITATION_BYTES) && message->code == 0;
	return bytes_be == bpf_htons(sizeof(*message)) && !bpf_skb_load_bytes(skb, offset, message, sizeof(*message)) &&
	       message->code == 0 && message->option_units == 1 &&
	       message->option_type ==
		       (message->type == ICMP6_NEIGHBOUR_SOLICITATION ? ND_OPTION_SOURCE_MAC : ND_OPTION_TARGET_MAC) &&
	       (!verify || mac_equals(message->option_mac, endpoint->mac));
}

/* Returns whether the stack delivers a packet to this address locally; it never forwards to a link-local one. */
static __always_inline bool nd_reaches_node_only(const union address *destination)
{
	const struct ipcache_entry *entry;

	if (ipv6_is_link_local(destination) || ipv6_equals(destination, node_config.gateway6))
		return true;
	entry = ipcache_find(destination, FAMILY_IPV6);
	return entry && entry->flags & IPCACHE_FLAG_HOST;
}

/*
 * Handles a link-control message of the workload. Solicitations for this node are answered, advertisements of the
 * workload's own addresses to this node pass to the stack, and others (duplicate address detection, router and
 * multicast listener messages) are dropped.
 */
__global int nd_from_endpoint(struct __sk_buff *skb, const struct packet *packet, const struct endpoint_entry *endpoint)
{
	if (!packet || !endpoint)
		return action_drop(DROP_NO_ENDPOINT);

	const bool verify = endpoint->options & OPTION_SOURCE_IP_VERIFICATION;
	const bool own_source = ipv6_equals(&packet->source, endpoint->ipv6);
	struct nd_message message;

	if (packet->icmp_type != ICMP6_NEIGHBOUR_SOLICITATION && packet->icmp_type != ICMP6_NEIGHBOUR_ADVERTISEMENT)
		return action_drop_quietly(DROP_NEIGHBOUR_UNKNOWN);
	if (ipv6_is_unspecified(&packet->source))
		return action_drop_quietly(DROP_NEIGHBOUR_UNKNOWN);
	if (!nd_read(skb, packet, endpoint, &message))
		return action_drop(DROP_MALFORMED);
	if (verify && !own_source && !ipv6_is_link_local(&packet->source))
		return action_drop(DROP_INVALID_SOURCE_ADDRESS);
	if (packet->icmp_type == ICMP6_NEIGHBOUR_SOLICITATION)
		return nd_asks_for_node(message.target) ? nd_answer(skb, packet, endpoint, message.target)
							: action_drop_quietly(DROP_NEIGHBOUR_UNKNOWN);
	if (verify && !ipv6_equals(message.target, endpoint->ipv6) &&
	    !ipv6_is_link_local((union address *)message.target))
		return action_drop(DROP_INVALID_SOURCE_ADDRESS);
	return nd_reaches_node_only(&packet->destination) ? ACTION_PASS : action_drop(DROP_NEIGHBOUR_UNKNOWN);
}

/*
 * Handles a link-control message to the workload. Only this node is its neighbour: what the node received by another
 * interface comes from elsewhere, and a router has decremented its hop limit. The answer of nd_answer() was received
 * by the workload's own interface.
 */
__global int nd_to_endpoint(struct __sk_buff *skb, const struct packet *packet, const struct endpoint_entry *endpoint)
{
	if (!packet || !endpoint)
		return action_drop(DROP_NO_ENDPOINT);
	if (packet->icmp_type != ICMP6_NEIGHBOUR_SOLICITATION && packet->icmp_type != ICMP6_NEIGHBOUR_ADVERTISEMENT)
		return action_drop_quietly(DROP_NEIGHBOUR_UNKNOWN);
	if (packet->l4_offset != ETH_HLEN + IPV6_HEADER_BYTES || !nd_hop_limit_is_valid(skb))
		return action_drop(DROP_MALFORMED);
	return !skb->ingress_ifindex || skb->ingress_ifindex == endpoint->ifindex ? ACTION_PASS
										  : action_drop(DROP_NEIGHBOUR_UNKNOWN);
}

#endif
