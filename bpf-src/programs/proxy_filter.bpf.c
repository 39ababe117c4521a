// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The filters of the sockets that the proxies of the agent listen on: these get what a program has sent there
 * (lib/redirect.h) and nothing else, whatever brings it, also what no program sees before: by loopback, from a container
 * of others, out of a tunnel. The entry of the client and the proxy proves it, and the interface that the client is
 * behind. Connections inherit the filter of their listener, which looks at nothing but the flags of their segments.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "lib/metrics.h"
#include "lib/origin.h"
#include "lib/parse_l4.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define FILTER_DROP 0
#define FILTER_PASS -1 /* the whole packet: the kernel cuts one that is longer than this unsigned number */

#define LOOPBACK_IFINDEX 1

/* Reads the addresses and ports of a packet whose transport header comes first here; returns whether that failed. */
static __always_inline int filter_parse(struct __sk_buff *skb, struct packet *packet, __u8 protocol)
{
	struct udp_start ports;

	__builtin_memset(packet, 0, sizeof(*packet));
	packet->protocol = protocol;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr ip;

		if (bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof(ip), BPF_HDR_START_NET))
			return -1;
		packet->family = FAMILY_IPV4;
		packet->source.v4 = ip.saddr;
		packet->destination.v4 = ip.daddr;
	} else {
		struct ipv6hdr ip;

		if (bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof(ip), BPF_HDR_START_NET))
			return -1;
		packet->family = FAMILY_IPV6;
		__builtin_memcpy(&packet->source, &ip.saddr, sizeof(packet->source));
		__builtin_memcpy(&packet->destination, &ip.daddr, sizeof(packet->destination));
	}
	if (bpf_skb_load_bytes(skb, 0, &ports, sizeof(ports)))
		return -1;
	packet->source_port_be = ports.source_port_be;
	packet->destination_port_be = ports.destination_port_be;
	return 0;
}

/* Returns whether a program has sent the packet to the proxy: of a client that is where its flow came from. */
static __always_inline bool filter_is_redirected(struct __sk_buff *skb, __u8 protocol)
{
	const __u32 proxied = CONNTRACK_PROXIED | CONNTRACK_REWRITTEN;
	const __u32 received_by = receiving_ifindex(skb);
	const struct conntrack_entry *entry;
	enum conntrack_side side;
	struct packet packet;

	if (received_by == LOOPBACK_IFINDEX || filter_parse(skb, &packet, protocol))
		return false;
	entry = conntrack_find(&packet);
	if (!entry || (entry->flags & proxied) != proxied)
		return false;
	side = packet_conntrack_side(&packet) & 1;
	return conntrack_is_initiator(entry->flags, side) && origin_is_peer(entry, side, received_by);
}

static __always_inline int filter_judge(struct __sk_buff *skb, __u8 protocol)
{
	if (filter_is_redirected(skb, protocol))
		return FILTER_PASS;
	metrics_count(METRICS_NETWORK, DROP_NOT_REDIRECTED, skb->len);
	return FILTER_DROP;
}

SEC("socket")
int proxy_tcp(struct __sk_buff *skb)
{
	__u8 flags;

	if (bpf_skb_load_bytes(skb, offsetof(struct tcp_start, flags), &flags, sizeof(flags)))
		return FILTER_DROP;
	return tcp_is_opening(flags) ? filter_judge(skb, IPPROTO_TCP) : FILTER_PASS;
}

SEC("socket")
int proxy_udp(struct __sk_buff *skb)
{
	return filter_judge(skb, IPPROTO_UDP);
}
