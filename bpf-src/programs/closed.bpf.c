// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * What is attached in the place of programs that the kernel refuses: every supported kernel takes these. Those of an
 * interface drop all packets of its workload. Those of a device drop packets from and to workloads, and pass what is the
 * node's own; masquerading is off on such a device, so that addresses tell the one from the other.
 */
#include "lib/action.h"
#include "lib/ipcache.h"
#include "lib/metrics.h"
#include "maps/endpoint_map.h"

#include <linux/ip.h>
#include <linux/ipv6.h>

char _license[] SEC("license") = "Dual BSD/GPL";

static __always_inline bool is_workload(const union address *address, __u8 family)
{
	const struct ipcache_entry *entry = ipcache_find(address, family);

	return entry && entry->endpoint_id;
}

static __always_inline bool ipv4_is_of_workload(const struct iphdr *ip)
{
	const union address source = { .v4 = ip->saddr };
	const union address destination = { .v4 = ip->daddr };

	return is_workload(&source, FAMILY_IPV4) || is_workload(&destination, FAMILY_IPV4);
}

static __always_inline bool ipv6_is_of_workload(const struct ipv6hdr *ip)
{
	union address source, destination;

	__builtin_memcpy(&source, &ip->saddr, sizeof(source));
	__builtin_memcpy(&destination, &ip->daddr, sizeof(destination));
	return is_workload(&source, FAMILY_IPV6) || is_workload(&destination, FAMILY_IPV6);
}

/* Returns whether the packet is from or to a workload; one whose header cannot be read is taken for one. */
static __always_inline bool is_of_workload(const void *header, const void *end, __be16 protocol)
{
	if (protocol == bpf_htons(ETH_P_IP))
		return header + sizeof(struct iphdr) > end || ipv4_is_of_workload(header);
	if (protocol == bpf_htons(ETH_P_IPV6))
		return header + sizeof(struct ipv6hdr) > end || ipv6_is_of_workload(header);
	return false;
}

/* Tagged frames are the node's own: the stack takes what is behind the tag to another device, or drops it. */
static __always_inline int device_judge(struct __sk_buff *skb)
{
	if (bpf_skb_pull_data(skb, ETH_HLEN + sizeof(struct ipv6hdr)))
		bpf_skb_pull_data(skb,
				  ETH_HLEN + sizeof(struct iphdr)); /* a short packet; what is missing is seen below */
	if (!is_of_workload((void *)(long)skb->data + ETH_HLEN, (void *)(long)skb->data_end, skb->protocol))
		return ACTION_PASS;
	metrics_count(METRICS_NETWORK, DROP_PROGRAM_REFUSED, skb->len);
	return TC_ACT_SHOT;
}

SEC("tc")
int closed_from_endpoint(struct __sk_buff *skb)
{
	metrics_count(METRICS_EGRESS, DROP_PROGRAM_REFUSED, skb->len);
	return TC_ACT_SHOT;
}

SEC("tc")
int closed_to_endpoint(struct __sk_buff *skb)
{
	metrics_count(METRICS_INGRESS, DROP_PROGRAM_REFUSED, skb->len);
	return TC_ACT_SHOT;
}

SEC("tc")
int closed_from_network(struct __sk_buff *skb)
{
	return device_judge(skb);
}

SEC("tc")
int closed_to_network(struct __sk_buff *skb)
{
	return device_judge(skb);
}

SEC("xdp.frags")
int closed_prefilter(struct xdp_md *context)
{
	const void *data = (void *)(long)context->data;
	const void *end = (void *)(long)context->data_end;
	const struct ethhdr *ethernet = data;

	if ((void *)(ethernet + 1) > end || !is_of_workload(ethernet + 1, end, ethernet->h_proto))
		return XDP_PASS;
	metrics_count(METRICS_NETWORK, DROP_PROGRAM_REFUSED, end - data);
	return XDP_DROP;
}
