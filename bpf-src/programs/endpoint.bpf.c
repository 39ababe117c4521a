// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The tc programs on the host-side veth interfaces of workloads, for packets from them and packets to them. They are
 * verified once; an endpoint's own values are in its entry of the map "endpoints".
 */
#include "lib/arp.h"
#include "lib/early_fragment.h"
#include "lib/endpoint_judge.h"
#include "lib/host_address.h"
#include "lib/nat46_translation.h"
#include "lib/quick_parse.h"
#include "lib/reject.h"

char _license[] SEC("license") = "Dual BSD/GPL";

int nat46_from_endpoint(struct __sk_buff *skb);
int from_endpoint(struct __sk_buff *skb);
int nat46_to_endpoint(struct __sk_buff *skb);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(max_entries, NAT46_PROGRAMS);
	__array(values, int(void *));
} nat46_programs SEC(".maps") = {
	.values = {
		[NAT46_PROGRAM_FROM] = (void *)&nat46_from_endpoint,
		[NAT46_PROGRAM_ENTER] = (void *)&from_endpoint,
		[NAT46_PROGRAM_TO] = (void *)&nat46_to_endpoint,
	},
};

/* The slow path emits traces. With aggregation, packets that change nothing in their flow are not traced. */
#define ENDPOINT_IS_QUICK \
	(ENDPOINT_OPTION(CONNTRACK) && (!ENDPOINT_OPTION(TRACE_NOTIFICATION) || endpoint->aggregation))

static __always_inline bool family_is_on(const struct endpoint_entry *endpoint, __u8 family)
{
	return family == FAMILY_IPV4 ? node_config.enable_ipv4 && endpoint->has_ipv4
				     : node_config.enable_ipv6 && endpoint->has_ipv6;
}

static __always_inline bool source_is_verified(const struct endpoint_entry *endpoint, enum metrics_direction hook)
{
	return hook == METRICS_EGRESS && ENDPOINT_OPTION(SOURCE_IP_VERIFICATION);
}

static __always_inline int endpoint_judge_by(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					     struct packet *packet, enum metrics_direction hook)
{
	int action;

	if (hook != METRICS_EGRESS)
		return judge_to_endpoint(skb, packet, endpoint);
	action = judge_from_endpoint(skb, packet, endpoint);
	return unlikely(action < HAIRPIN_OPENS) ? hairpin_finish(skb, endpoint, packet, action) : action;
}

/* Judges a packet on the slow path. Stores the ports of a first fragment that is not dropped, for later fragments. */
static __always_inline int endpoint_judge_slowly(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						 struct packet *packet, enum metrics_direction hook)
{
	int action = HAIRPIN_OPENS;

	if (packet->first_fragment && hook == METRICS_INGRESS && skb->tc_index == PACKET_CARRIER)
		return early_fragment_release(skb, hook);
	if (hook == METRICS_EGRESS && packet->kind == PACKET_ICMP_ERROR)
		action = hairpin_error(skb, endpoint, packet);
	if (action == HAIRPIN_OPENS)
		action = endpoint_judge_by(skb, endpoint, packet, hook);
	if (packet->first_fragment && action_is_forward(action)) {
		fragment_remember(packet, endpoint->endpoint_id);
		early_fragment_call(skb, packet, hook);
	}
	return action;
}

/*
 * The functions below parse headers that the quick parser does not handle; they return an action, or PACKET_IS_READ.
 * They do not call the judging functions: kernels before 6.8 round each stack frame of a call chain up to 32 bytes, and
 * the longest chain is close to the limit of 512 bytes.
 */
#define PACKET_IS_READ -3

__local int endpoint_ipv4_slowly(struct __sk_buff *skb, const struct endpoint_entry *endpoint, struct packet *packet,
				 __u32 hook)
{
	__builtin_memset(packet, 0, sizeof(*packet));

	const int reason = parse_ipv4(skb, packet);

	if (source_is_verified(endpoint, hook) && !ipv4_equals(&packet->source, endpoint->ipv4))
		return action_drop(reason == DROP_MALFORMED ? DROP_MALFORMED : DROP_INVALID_SOURCE_ADDRESS);
	if (reason != DROP_MALFORMED && !packet_is_of_hosts(packet))
		return action_drop(DROP_INVALID_ADDRESS);
	if ((!reason || reason == DROP_FRAGMENT_NOT_FOUND) && hook == METRICS_INGRESS && packet_is_to_translate(skb))
		return ACTION_TRANSLATE;
	return reason ? action_drop(reason) : PACKET_IS_READ;
}

__local int endpoint_ipv6_slowly(struct __sk_buff *skb, const struct endpoint_entry *endpoint, struct packet *packet,
				 __u32 hook)
{
	__builtin_memset(packet, 0, sizeof(*packet));

	const int reason = parse_ipv6(skb, packet);

	if (reason == DROP_MALFORMED)
		return action_drop(reason);
	if (!reason && packet_is_icmp(packet) && icmp6_is_link_control(packet->icmp_type))
		return hook == METRICS_EGRESS ? nd_from_endpoint(skb, packet, endpoint)
					      : nd_to_endpoint(skb, packet, endpoint);
	if (source_is_verified(endpoint, hook) && !ipv6_equals(&packet->source, endpoint->ipv6))
		return action_drop(DROP_INVALID_SOURCE_ADDRESS);
	if (!packet_is_of_hosts(packet))
		return action_drop(DROP_INVALID_ADDRESS);
	if ((!reason || reason == DROP_FRAGMENT_NOT_FOUND) && hook == METRICS_EGRESS &&
	    nat46_takes(&packet->destination))
		return ACTION_TRANSLATE; /* a fragment finds the first one when it is one of IPv4 */
	return reason ? action_drop(reason) : PACKET_IS_READ;
}

/*
 * Stores what the quick parser has read where a slow packet has it. The compiler reads it there after a call, where it
 * would store copies otherwise; the deepest call chain has no room for copies.
 */
static __always_inline void quick_l4_keep(struct packet *packet, const struct quick_l4 *l4)
{
	packet->source_port_be = l4->source_port_be;
	packet->destination_port_be = l4->destination_port_be;
	packet->protocol = l4->segment.protocol;
	packet->tcp_flags = l4->segment.tcp_flags;
	packet->sequence = l4->segment.sequence;
	packet->acknowledgement = l4->segment.acknowledgement;
}

/* Sets the other fields of a packet that the quick parser has read, but for the addresses. */
static __always_inline void quick_packet_complete(struct packet *packet, __u8 family, bool untracked)
{
	packet->family = family;
	packet->icmp_type = 0;
	__builtin_memset(&packet->l4_offset, 0, sizeof(*packet) - offsetof(struct packet, l4_offset));
	packet->l4_offset = quick_l4_offset(family);
	packet->untracked = untracked;
}

/* Returns whether both addresses of a packet of this side are rewritten, which lib/hairpin.h does. */
static __always_inline bool endpoint_relays(const struct conntrack_entry *entry, enum conntrack_side side,
					    enum metrics_direction hook)
{
	return hook == METRICS_EGRESS && unlikely(rewrite_applies(entry, side)) && unlikely(entry_is_relayed(entry));
}

/* The complete path of such a packet; what has to be refused takes the slow path. */
static __always_inline int endpoint_relay(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					  struct packet *packet, struct conntrack_entry *entry,
					  enum conntrack_side side, const struct segment *segment, __u64 now)
{
	struct segment copy = *segment;
	int action;

	copy.source_side = side;
	action = hairpin_quickly(skb, endpoint, entry, &copy, now);
	return action == HAIRPIN_OPENS ? endpoint_judge_by(skb, endpoint, packet, METRICS_EGRESS) : action;
}

/* Handles a packet that the quick parser has read, and that is of no flow which goes on without more. */
static __always_inline int endpoint_judge_quick(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						struct packet *packet, const struct conntrack_entry *entry,
						enum metrics_direction hook)
{
	if (unlikely(!packet_is_of_hosts(packet)))
		return action_drop(DROP_INVALID_ADDRESS);
	if (entry && unlikely(entry->flags & CONNTRACK_PROXIED)) {
		const int action = redirect_quickly(skb, endpoint, packet, entry, hook);

		if (action != REDIRECT_JUDGE)
			return action;
	}
	return endpoint_judge_by(skb, endpoint, packet, hook);
}

/* Handles a packet that the quick parser reads; returns an action, or ACTION_UNREAD for another one. */
static __always_inline int endpoint_ipv4_quickly(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						 struct packet *packet, enum metrics_direction hook)
{
	struct conntrack4_key key __attribute__((aligned(8)));
	struct quick_l4 l4;
	const struct iphdr *ip = ENDPOINT_IS_QUICK ? quick_parse_ipv4(skb, &l4) : NULL;

	if (unlikely(!ip) || (source_is_verified(endpoint, hook) && unlikely(!ipv4_equals(&ip->saddr, endpoint->ipv4))))
		return ACTION_UNREAD;

	quick_l4_keep(packet, &l4);

	const enum conntrack_side side = conntrack4_key_of(&key, ip->saddr, ip->daddr, l4.source_port_be,
							   l4.destination_port_be, l4.segment.protocol);
	struct conntrack_entry *entry = conntrack4_lookup(&key, l4.segment.protocol);

	if (likely(entry)) {
		const __u64 now = now_ns();

		if (endpoint_may_follow(skb, endpoint, entry, side, &l4.segment, hook, now)) {
			if (likely(!endpoint_relays(entry, side, hook)))
				return endpoint_follow(skb, endpoint, entry, side, FAMILY_IPV4, &l4.segment, hook, now);
			packet->source = (union address){ .words = { ip->saddr } };
			packet->destination = (union address){ .words = { ip->daddr } };
			quick_packet_complete(packet, FAMILY_IPV4, false);
			return endpoint_relay(skb, endpoint, packet, entry, side, &l4.segment, now);
		}
	}
	packet->source = (union address){ .words = { ip->saddr } };
	packet->destination = (union address){ .words = { ip->daddr } };
	quick_packet_complete(packet, FAMILY_IPV4, !entry);
	return endpoint_judge_quick(skb, endpoint, packet, entry, hook);
}

static __always_inline int endpoint_ipv4(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					 struct packet *packet, enum metrics_direction hook)
{
	int action = endpoint_ipv4_quickly(skb, endpoint, packet, hook);

	if (likely(action != ACTION_UNREAD))
		return action;
	action = endpoint_ipv4_slowly(skb, endpoint, packet, hook);
	return action == PACKET_IS_READ ? endpoint_judge_slowly(skb, endpoint, packet, hook) : action;
}

/* Handles a packet that the quick parser reads; returns an action, or ACTION_UNREAD for another one. */
static __always_inline int endpoint_ipv6_quickly(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						 struct packet *packet, enum metrics_direction hook)
{
	struct conntrack6_key key __attribute__((aligned(8)));
	struct quick_l4 l4;
	const struct ipv6hdr *ip = ENDPOINT_IS_QUICK ? quick_parse_ipv6(skb, &l4) : NULL;

	if (unlikely(!ip) || (source_is_verified(endpoint, hook) && unlikely(!ipv6_equals(&ip->saddr, endpoint->ipv6))))
		return ACTION_UNREAD;

	quick_l4_keep(packet, &l4);

	const union address *source = (const union address *)&ip->saddr;
	const union address *destination = (const union address *)&ip->daddr;
	const enum conntrack_side side = conntrack6_key_of(&key, source, destination, l4.source_port_be,
							   l4.destination_port_be, l4.segment.protocol);
	struct conntrack_entry *entry = conntrack6_lookup(&key, l4.segment.protocol);

	if (likely(entry)) {
		const __u64 now = now_ns();

		if (endpoint_may_follow(skb, endpoint, entry, side, &l4.segment, hook, now)) {
			if (likely(!endpoint_relays(entry, side, hook)))
				return endpoint_follow(skb, endpoint, entry, side, FAMILY_IPV6, &l4.segment, hook, now);
			packet->source = *source;
			packet->destination = *destination;
			quick_packet_complete(packet, FAMILY_IPV6, false);
			return endpoint_relay(skb, endpoint, packet, entry, side, &l4.segment, now);
		}
	}
	packet->source = *source;
	packet->destination = *destination;
	quick_packet_complete(packet, FAMILY_IPV6, !entry);
	if (hook == METRICS_EGRESS && nat46_takes(&packet->destination) && packet_is_of_hosts(packet))
		return ACTION_TRANSLATE;
	return endpoint_judge_quick(skb, endpoint, packet, entry, hook);
}

static __always_inline int endpoint_ipv6(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					 struct packet *packet, enum metrics_direction hook)
{
	int action = endpoint_ipv6_quickly(skb, endpoint, packet, hook);

	if (likely(action != ACTION_UNREAD))
		return action;
	action = endpoint_ipv6_slowly(skb, endpoint, packet, hook);
	return action == PACKET_IS_READ ? endpoint_judge_slowly(skb, endpoint, packet, hook) : action;
}

/*
 * Counts and notifies a drop, and answers what no service takes; forwarded packets are counted before. Calls the program
 * that translates a packet, which does not return.
 */
static __always_inline int endpoint_conclude(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					     const struct packet *packet, int action, enum metrics_direction hook)
{
	if (node_config.enable_nat46 && action == ACTION_TRANSLATE) {
		bpf_tail_call(skb, &nat46_programs, hook == METRICS_EGRESS ? NAT46_PROGRAM_FROM : NAT46_PROGRAM_TO);
		action = action_drop(DROP_NOT_TRANSLATABLE);
	}

	const enum drop_reason reason = action_reason(action);

	if (reason == DROP_FRAGMENT_NOT_FOUND && early_fragment_wait(skb, packet, hook))
		return TC_ACT_SHOT;
	metrics_count(action_is_peers(action) ? 1 - hook : hook, reason, skb->len);
	if (ENDPOINT_OPTION(DROP_NOTIFICATION) && !action_is_quiet(action))
		endpoint_notify(skb, endpoint, packet, NULL, hook, EVENT_DROP, reason, 0);
	if (reason == DROP_NOT_FORWARDABLE)
		return hairpin_answer(skb, packet, endpoint);
	return reason == DROP_SERVICE_UNSERVED ? packet_reject(skb, packet, endpoint) : TC_ACT_SHOT;
}

static __always_inline bool source_mac_is_own(const struct endpoint_entry *endpoint, const struct __sk_buff *skb)
{
	const void *data = (void *)(long)skb->data;

	return data + ETH_HLEN <= (void *)(long)skb->data_end && mac_equals(data + ETH_ALEN, endpoint->mac);
}

/* Handles frames that are not IP of an enabled family, tagged frames, and frames with a forged source MAC address. */
__local int endpoint_other(struct __sk_buff *skb, const struct endpoint_entry *endpoint, struct packet *packet,
			   __u32 hook)
{
	__builtin_memset(packet, 0, sizeof(*packet));
	if (skb->vlan_present)
		return action_drop(DROP_UNKNOWN_ETHERTYPE);
	if (source_is_verified(endpoint, hook) && !source_mac_is_own(endpoint, skb))
		return action_drop(DROP_INVALID_SOURCE_MAC);
	switch (skb->protocol) {
	case bpf_htons(ETH_P_ARP):
		return hook == METRICS_EGRESS ? arp_from_endpoint(skb, endpoint) : ACTION_PASS;
	case bpf_htons(ETH_P_IP):
	case bpf_htons(ETH_P_IPV6):
		return action_drop(DROP_FAMILY_DISABLED);
	default:
		return action_drop(DROP_UNKNOWN_ETHERTYPE);
	}
}

static __always_inline int endpoint_enter(struct __sk_buff *skb, enum metrics_direction hook)
{
	const struct endpoint_entry *endpoint = endpoint_of(skb);

	if (unlikely(!endpoint)) {
		metrics_count(hook, DROP_NO_ENDPOINT, skb->len);
		return TC_ACT_SHOT;
	}

	const bool plain = !skb->vlan_present &&
			   (!source_is_verified(endpoint, hook) || source_mac_is_own(endpoint, skb));
	struct packet packet;
	int action;

	if (likely(plain) && skb->protocol == bpf_htons(ETH_P_IP) && family_is_on(endpoint, FAMILY_IPV4))
		action = endpoint_ipv4(skb, endpoint, &packet, hook);
	else if (likely(plain) && skb->protocol == bpf_htons(ETH_P_IPV6) && family_is_on(endpoint, FAMILY_IPV6))
		action = endpoint_ipv6(skb, endpoint, &packet, hook);
	else
		action = endpoint_other(skb, endpoint, &packet, hook);
	return unlikely(action_is_drop(action)) ? endpoint_conclude(skb, endpoint, &packet, action, hook) : action;
}

SEC("tc")
int from_endpoint(struct __sk_buff *skb)
{
	if (unlikely(packet_begin(skb)))
		return early_fragment_release(skb, METRICS_EGRESS);
	return endpoint_enter(skb, METRICS_EGRESS);
}

SEC("tc")
int to_endpoint(struct __sk_buff *skb)
{
	return endpoint_enter(skb, METRICS_INGRESS);
}

/* Drops a packet that cannot be translated; returns the action. */
static __always_inline int nat46_drop(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
				      const struct packet *packet, enum metrics_direction hook, int reason)
{
	metrics_count(hook, reason & 0xff, skb->len);
	if (ENDPOINT_OPTION(DROP_NOTIFICATION))
		endpoint_notify(skb, endpoint, packet, NULL, hook, EVENT_DROP, reason & 0xff, 0);
	return TC_ACT_SHOT;
}

SEC("tc")
int nat46_from_endpoint(struct __sk_buff *skb)
{
	const struct endpoint_entry *endpoint = endpoint_of(skb);
	struct packet packet;
	int reason;

	if (!endpoint)
		return TC_ACT_SHOT;
	reason = nat46_leave(skb, endpoint, &packet);
	if (!reason) {
		packet_set_translated(skb);
		bpf_tail_call(skb, &nat46_programs, NAT46_PROGRAM_ENTER);
		reason = DROP_NOT_TRANSLATABLE;
	}
	return nat46_drop(skb, endpoint, &packet, METRICS_EGRESS, reason);
}

SEC("tc")
int nat46_to_endpoint(struct __sk_buff *skb)
{
	const struct endpoint_entry *endpoint = endpoint_of(skb);
	struct packet packet;
	int reason;

	if (!endpoint)
		return TC_ACT_SHOT;
	reason = nat46_arrive(skb, endpoint, &packet);
	if (!reason)
		return ACTION_PASS;
	nat46_drop(skb, endpoint, &packet, METRICS_INGRESS, reason);
	return reason == DROP_NOT_FORWARDABLE ? nat46_refuse(skb, &packet, endpoint) : TC_ACT_SHOT;
}
