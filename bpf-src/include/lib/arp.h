/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Answers ARP requests of the workload for its gateway and for the node's own address. RFC 826. */
#ifndef AGENT_LIB_ARP_H
#define AGENT_LIB_ARP_H

#include "config/node_config.h"
#include "lib/delivery.h"
#include "lib/drop_reason.h"
#include "maps/endpoint_map.h"

/* linux/if_arp.h includes headers of the C library. */
#define ARP_HARDWARE_ETHERNET 1
#define ARP_OPERATION_REQUEST 1
#define ARP_OPERATION_REPLY 2

/* An Ethernet frame with an ARP message for IPv4. */
struct arp_frame {
	__u8 destination_mac[ETH_ALEN];
	__u8 source_mac[ETH_ALEN];
	__be16 ethertype;
	__be16 hardware;
	__be16 protocol;
	__u8 hardware_bytes;
	__u8 protocol_bytes;
	__be16 operation;
	__u8 sender_mac[ETH_ALEN];
	__u8 sender_address[4];
	__u8 target_mac[ETH_ALEN];
	__u8 target_address[4];
};
_Static_assert(sizeof(struct arp_frame) == 42, "arp_frame");

static __always_inline bool ipv4_equals(const void *a, const volatile void *b)
{
	const __u16 *left = a;
	const volatile __u16 *right = b;

	return left[0] == right[0] && left[1] == right[1];
}

static __always_inline void mac_copy(void *to, const volatile void *from)
{
	__u16 *left = to;
	const volatile __u16 *right = from;

	left[0] = right[0];
	left[1] = right[1];
	left[2] = right[2];
}

/* Returns whether the workload asks for an address by which it may reach this node. */
static __always_inline bool arp_asks_for_node(const struct arp_frame *frame)
{
	return ipv4_equals(frame->target_address, node_config.gateway4) ||
	       ipv4_equals(frame->target_address, node_config.node4);
}

static __always_inline int arp_answer(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
				      struct arp_frame *frame)
{
	__u8 asked[4];

	__builtin_memcpy(asked, frame->target_address, 4);
	mac_copy(frame->destination_mac, frame->sender_mac);
	mac_copy(frame->source_mac, endpoint->host_mac);
	frame->operation = bpf_htons(ARP_OPERATION_REPLY);
	__builtin_memcpy(frame->target_mac, frame->sender_mac, ETH_ALEN);
	__builtin_memcpy(frame->target_address, frame->sender_address, 4);
	mac_copy(frame->sender_mac, endpoint->host_mac);
	__builtin_memcpy(frame->sender_address, asked, 4);
	if (bpf_skb_store_bytes(skb, 0, frame, sizeof(*frame), 0))
		return action_drop(DROP_MALFORMED);
	return (int)bpf_redirect(endpoint->ifindex, 0);
}

/* Handles an ARP message of the workload; returns an action. */
__global int arp_from_endpoint(struct __sk_buff *skb, const struct endpoint_entry *endpoint)
{
	if (!endpoint)
		return action_drop(DROP_NO_ENDPOINT);

	struct arp_frame frame;

	if (bpf_skb_load_bytes(skb, 0, &frame, sizeof(frame)) || frame.hardware != bpf_htons(ARP_HARDWARE_ETHERNET) ||
	    frame.protocol != bpf_htons(ETH_P_IP) || frame.hardware_bytes != ETH_ALEN || frame.protocol_bytes != 4)
		return action_drop(DROP_MALFORMED);
	if (endpoint->options & OPTION_SOURCE_IP_VERIFICATION) {
		if (!mac_equals(frame.sender_mac, endpoint->mac))
			return action_drop(DROP_INVALID_SOURCE_MAC);
		if (*(__u16 *)frame.sender_address == 0 && *(__u16 *)(frame.sender_address + 2) == 0)
			return action_drop(DROP_NEIGHBOUR_UNKNOWN); /* an ARP probe: RFC 5227 */
		if (!ipv4_equals(frame.sender_address, endpoint->ipv4))
			return action_drop(DROP_INVALID_SOURCE_ADDRESS);
	}
	if (frame.operation == bpf_htons(ARP_OPERATION_REPLY))
		return ACTION_PASS;
	if (frame.operation == bpf_htons(ARP_OPERATION_REQUEST) && arp_asks_for_node(&frame))
		return arp_answer(skb, endpoint, &frame);
	return endpoint->options & OPTION_ARP_PASSTHROUGH ? ACTION_PASS : action_drop(DROP_NEIGHBOUR_UNKNOWN);
}

#endif
