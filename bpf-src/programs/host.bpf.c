// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* What comes in from the network: established flows go straight to their workload, the rest to the stack. */
#include "lib/action.h"
#include "lib/delivery.h"
#include "lib/flow.h"
#include "lib/metrics.h"
#include "lib/quick_parse.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define PACKET_TYPE_HOST 0 /* PACKET_HOST of linux/if_packet.h: addressed to this device */

/* An address of a local endpoint cannot come from outside. */
__global int network_source_is_local(struct __sk_buff *skb, __u32 family)
{
	const struct ipcache_entry *entry;
	union address source = {};

	if (family == FAMILY_IPV4 ? bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct iphdr, saddr), &source, 4)
				  : bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, saddr), &source, 16))
		return false;
	entry = ipcache_find(&source, family);
	return entry && entry->endpoint_id;
}

static __always_inline int network_judge(struct __sk_buff *skb, __u8 family)
{
	if (unlikely(network_source_is_local(skb, family))) {
		metrics_count(METRICS_NETWORK, DROP_INVALID_SOURCE_ADDRESS, skb->len);
		return TC_ACT_SHOT;
	}
	return ACTION_PASS;
}

/* Only a flow between a workload and the outside whose verdict holds and is to forward. */
static __always_inline bool network_may_deliver(const struct conntrack_entry *entry, enum conntrack_side source_side,
						__u8 protocol, __u8 tcp_flags, __u64 now)
{
	return likely(!entry->endpoint_id[source_side] && entry->delivery[1 - source_side].ifindex &&
		      !(entry->flags & CONNTRACK_DENIED) && conntrack_is_current(entry) &&
		      !conntrack_is_expired(entry, now) && !conntrack_is_reopened(entry->flags, protocol, tcp_flags));
}

static __always_inline int network_follow(struct __sk_buff *skb, struct conntrack_entry *entry,
					  enum conntrack_side source_side, __u8 family, const struct quick_l4 *l4)
{
	const struct conntrack_delivery *delivery;
	const __u64 now = now_ns();
	const __u32 bytes = skb->len;
	int action;

	if (!network_may_deliver(entry, source_side, l4->protocol, l4->tcp_flags, now))
		return network_judge(skb, family);
	delivery = &entry->delivery[1 - source_side];
	action = deliver_to_workload(skb, family, delivery->ifindex, delivery->destination_mac);
	if (likely(action != ACTION_PASS)) {
		if (unlikely(!conntrack_rests(entry, source_side, l4->protocol, l4->tcp_flags, now)))
			conntrack_advance(entry, source_side, l4->protocol, l4->tcp_flags, now);
		metrics_count(METRICS_NETWORK, DROP_NONE, bytes);
	}
	return action;
}

static __always_inline int network_ipv4(struct __sk_buff *skb)
{
	struct quick_l4 l4;
	const struct iphdr *ip = quick_parse_ipv4(skb, &l4);
	struct conntrack_entry *entry;
	struct conntrack4_key key __attribute__((aligned(8)));
	enum conntrack_side side;

	if (!ip)
		return network_judge(skb, FAMILY_IPV4);
	side = conntrack4_key_of(&key, ip->saddr, ip->daddr, l4.source_port_be, l4.destination_port_be, l4.protocol);
	entry = conntrack4_lookup(&key, l4.protocol);
	return entry ? network_follow(skb, entry, side, FAMILY_IPV4, &l4) : network_judge(skb, FAMILY_IPV4);
}

static __always_inline int network_ipv6(struct __sk_buff *skb)
{
	struct quick_l4 l4;
	const struct ipv6hdr *ip = quick_parse_ipv6(skb, &l4);
	struct conntrack_entry *entry;
	struct conntrack6_key key __attribute__((aligned(8)));
	enum conntrack_side side;

	if (!ip)
		return network_judge(skb, FAMILY_IPV6);
	side = conntrack6_key_of(&key, (const union address *)&ip->saddr, (const union address *)&ip->daddr,
				 l4.source_port_be, l4.destination_port_be, l4.protocol);
	entry = conntrack6_lookup(&key, l4.protocol);
	return entry ? network_follow(skb, entry, side, FAMILY_IPV6, &l4) : network_judge(skb, FAMILY_IPV6);
}

SEC("tc")
int from_network(struct __sk_buff *skb)
{
	if (skb->pkt_type != PACKET_TYPE_HOST || skb->vlan_present)
		return ACTION_PASS;
	if (skb->protocol == bpf_htons(ETH_P_IP) && node_config.enable_ipv4)
		return network_ipv4(skb);
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && node_config.enable_ipv6)
		return network_ipv6(skb);
	return ACTION_PASS;
}
