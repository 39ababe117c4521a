// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The tc programs on the host-side veth interface of a workload, for packets from it and packets to it. */
#include "lib/arp.h"
#include "lib/endpoint_judge.h"
#include "lib/quick_parse.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* With trace notifications every packet takes the slow path, which emits them. */
#define ENDPOINT_IS_QUICK (ENDPOINT_OPTION(CONNTRACK) && !ENDPOINT_OPTION(TRACE_NOTIFICATION))

static __always_inline bool family_is_on(__u8 family)
{
	return family == FAMILY_IPV4 ? node_config.enable_ipv4 && endpoint_config.has_ipv4
				     : node_config.enable_ipv6 && endpoint_config.has_ipv6;
}

static __always_inline bool source_is_verified(enum metrics_direction hook)
{
	return hook == METRICS_EGRESS && ENDPOINT_OPTION(SOURCE_IP_VERIFICATION);
}

static __always_inline int endpoint_judge_by(struct __sk_buff *skb, struct packet *packet, enum metrics_direction hook)
{
	return hook == METRICS_EGRESS ? judge_from_endpoint(skb, packet) : judge_to_endpoint(skb, packet);
}

/* Judges a packet on the slow path. Stores the ports of a first fragment that is not dropped, for later fragments. */
static __always_inline int endpoint_judge_slowly(struct __sk_buff *skb, struct packet *packet,
						 enum metrics_direction hook)
{
	const int action = endpoint_judge_by(skb, packet, hook);

	if (packet->first_fragment && !action_is_drop(action))
		fragment_remember(packet);
	return action;
}

/*
 * The functions below parse headers that the quick parser does not handle; they return an action, or PACKET_IS_READ.
 * They do not call the judging functions: kernels before 6.8 round each stack frame of a call chain up to 32 bytes, and
 * the longest chain is close to the limit of 512 bytes.
 */
#define PACKET_IS_READ -3

__local int endpoint_ipv4_slowly(struct __sk_buff *skb, struct packet *packet, __u32 hook)
{
	__builtin_memset(packet, 0, sizeof(*packet));

	const int reason = parse_ipv4(skb, packet);

	if (source_is_verified(hook) && !ipv4_equals(&packet->source, endpoint_config.ipv4))
		return action_drop(reason == DROP_MALFORMED ? DROP_MALFORMED : DROP_INVALID_SOURCE_ADDRESS);
	return reason ? action_drop(reason) : PACKET_IS_READ;
}

__local int endpoint_ipv6_slowly(struct __sk_buff *skb, struct packet *packet, __u32 hook)
{
	__builtin_memset(packet, 0, sizeof(*packet));

	const int reason = parse_ipv6(skb, packet);

	if (reason == DROP_MALFORMED)
		return action_drop(reason);
	if (!reason && packet_is_icmp(packet) && icmp6_is_link_control(packet->icmp_type))
		return hook == METRICS_EGRESS ? nd_from_endpoint(skb, packet) : nd_to_endpoint(skb, packet);
	if (source_is_verified(hook) && !ipv6_equals(&packet->source, endpoint_config.ipv6))
		return action_drop(DROP_INVALID_SOURCE_ADDRESS);
	return reason ? action_drop(reason) : PACKET_IS_READ;
}

static __always_inline int endpoint_ipv4(struct __sk_buff *skb, struct packet *packet, enum metrics_direction hook)
{
	struct conntrack4_key key __attribute__((aligned(8)));
	struct quick_l4 l4;
	const struct iphdr *ip = ENDPOINT_IS_QUICK ? quick_parse_ipv4(skb, &l4) : NULL;

	if (unlikely(!ip) || (source_is_verified(hook) && unlikely(!ipv4_equals(&ip->saddr, endpoint_config.ipv4)))) {
		const int action = endpoint_ipv4_slowly(skb, packet, hook);

		return action == PACKET_IS_READ ? endpoint_judge_slowly(skb, packet, hook) : action;
	}

	const enum conntrack_side side = conntrack4_key_of(&key, ip->saddr, ip->daddr, l4.source_port_be,
							   l4.destination_port_be, l4.protocol);
	struct conntrack_entry *entry = conntrack4_lookup(&key, l4.protocol);

	if (likely(entry)) {
		const int action = endpoint_follow(skb, entry, side, FAMILY_IPV4, l4.protocol, l4.tcp_flags, hook);

		if (likely(action != FOLLOW_NO_VERDICT))
			return action;
	}
	*packet = (struct packet){
		.source.words = { ip->saddr },
		.destination.words = { ip->daddr },
		.source_port_be = l4.source_port_be,
		.destination_port_be = l4.destination_port_be,
		.family = FAMILY_IPV4,
		.protocol = l4.protocol,
		.tcp_flags = l4.tcp_flags,
		.untracked = !entry,
	};
	return endpoint_judge_by(skb, packet, hook);
}

static __always_inline int endpoint_ipv6(struct __sk_buff *skb, struct packet *packet, enum metrics_direction hook)
{
	struct conntrack6_key key __attribute__((aligned(8)));
	struct quick_l4 l4;
	const struct ipv6hdr *ip = ENDPOINT_IS_QUICK ? quick_parse_ipv6(skb, &l4) : NULL;

	if (unlikely(!ip) || (source_is_verified(hook) && unlikely(!ipv6_equals(&ip->saddr, endpoint_config.ipv6)))) {
		const int action = endpoint_ipv6_slowly(skb, packet, hook);

		return action == PACKET_IS_READ ? endpoint_judge_slowly(skb, packet, hook) : action;
	}

	const union address *source = (const union address *)&ip->saddr;
	const union address *destination = (const union address *)&ip->daddr;
	const enum conntrack_side side = conntrack6_key_of(&key, source, destination, l4.source_port_be,
							   l4.destination_port_be, l4.protocol);
	struct conntrack_entry *entry = conntrack6_lookup(&key, l4.protocol);

	if (likely(entry)) {
		const int action = endpoint_follow(skb, entry, side, FAMILY_IPV6, l4.protocol, l4.tcp_flags, hook);

		if (likely(action != FOLLOW_NO_VERDICT))
			return action;
	}
	*packet = (struct packet){
		.source = *source,
		.destination = *destination,
		.source_port_be = l4.source_port_be,
		.destination_port_be = l4.destination_port_be,
		.family = FAMILY_IPV6,
		.protocol = l4.protocol,
		.tcp_flags = l4.tcp_flags,
		.untracked = !entry,
	};
	return endpoint_judge_by(skb, packet, hook);
}

/* Counts and notifies a drop; forwarded packets are counted before. */
__local int endpoint_conclude(struct __sk_buff *skb, const struct packet *packet, int action, __u32 hook)
{
	const enum drop_reason reason = action_reason(action);

	metrics_count(hook, reason, skb->len);
	if (ENDPOINT_OPTION(DROP_NOTIFICATION) && !action_is_quiet(action))
		endpoint_notify(skb, packet, NULL, hook, EVENT_DROP, reason, 0);
	return TC_ACT_SHOT;
}

static __always_inline bool source_mac_is_own(const struct __sk_buff *skb)
{
	const void *data = (void *)(long)skb->data;

	return data + ETH_HLEN <= (void *)(long)skb->data_end && mac_equals(data + ETH_ALEN, endpoint_config.mac);
}

/* Handles frames that are not IP of an enabled family, tagged frames, and frames with a forged source MAC address. */
__local int endpoint_other(struct __sk_buff *skb, struct packet *packet, __u32 hook)
{
	__builtin_memset(packet, 0, sizeof(*packet));
	if (skb->vlan_present)
		return action_drop(DROP_UNKNOWN_ETHERTYPE);
	if (source_is_verified(hook) && !source_mac_is_own(skb))
		return action_drop(DROP_INVALID_SOURCE_MAC);
	switch (skb->protocol) {
	case bpf_htons(ETH_P_ARP):
		return hook == METRICS_EGRESS ? arp_from_endpoint(skb) : ACTION_PASS;
	case bpf_htons(ETH_P_IP):
	case bpf_htons(ETH_P_IPV6):
		return action_drop(DROP_FAMILY_DISABLED);
	default:
		return action_drop(DROP_UNKNOWN_ETHERTYPE);
	}
}

static __always_inline int endpoint_enter(struct __sk_buff *skb, enum metrics_direction hook)
{
	const bool plain = !skb->vlan_present && (!source_is_verified(hook) || source_mac_is_own(skb));
	struct packet packet;
	int action;

	if (likely(plain) && skb->protocol == bpf_htons(ETH_P_IP) && family_is_on(FAMILY_IPV4))
		action = endpoint_ipv4(skb, &packet, hook);
	else if (likely(plain) && skb->protocol == bpf_htons(ETH_P_IPV6) && family_is_on(FAMILY_IPV6))
		action = endpoint_ipv6(skb, &packet, hook);
	else
		action = endpoint_other(skb, &packet, hook);
	return unlikely(action_is_drop(action)) ? endpoint_conclude(skb, &packet, action, hook) : action;
}

SEC("tc")
int from_endpoint(struct __sk_buff *skb)
{
	return endpoint_enter(skb, METRICS_EGRESS);
}

SEC("tc")
int to_endpoint(struct __sk_buff *skb)
{
	return endpoint_enter(skb, METRICS_INGRESS);
}
