// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The tc programs of the network devices. That of ingress delivers packets of established flows to their workload and
 * passes other packets to the stack, those to a service translated; that of egress completes the translation of what
 * comes through the stack.
 */
#include "lib/action.h"
#include "lib/delivery.h"
#include "lib/early_fragment.h"
#include "lib/flow.h"
#include "lib/host_address.h"
#include "lib/masquerade_network.h"
#include "lib/metrics.h"
#include "lib/nd.h"
#include "lib/network_service.h"
#include "lib/hairpin_network.h"
#include "lib/quick_parse.h"
#include "lib/redirect_network.h"
#include "lib/route.h"
#include "lib/translation.h"
#include "lib/vlan.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define PACKET_TYPE_HOST 0 /* PACKET_HOST of linux/if_packet.h: the frame is addressed to this device */

/*
 * Returns whether a packet whose source is no host's is to this node. The stack takes such packets, but for those of a
 * few networks. ICMP is left to it: routers on the way may send errors from any address.
 */
__global int network_is_of_no_host_to_node(struct __sk_buff *skb, __u32 family, __u32 ip_offset)
{
	const struct ipcache_entry *entry;
	union address destination = {};
	__u8 protocol;

	if (family == FAMILY_IPV4) {
		if (bpf_skb_load_bytes(skb, ip_offset + offsetof(struct iphdr, daddr), &destination, 4) ||
		    bpf_skb_load_bytes(skb, ip_offset + offsetof(struct iphdr, protocol), &protocol, 1) ||
		    protocol == IPPROTO_ICMP)
			return false;
	} else {
		if (bpf_skb_load_bytes(skb, ip_offset + offsetof(struct ipv6hdr, daddr), &destination, 16) ||
		    bpf_skb_load_bytes(skb, ip_offset + offsetof(struct ipv6hdr, nexthdr), &protocol, 1) ||
		    protocol == IPPROTO_ICMPV6)
			return false;
	}
	entry = ipcache_find(&destination, family);
	return entry && entry->flags & IPCACHE_FLAG_HOST;
}

/*
 * Drops a packet from the network whose source is an address of a local endpoint or of this node, or no host's; returns
 * the action.
 */
__global int network_judge_source(struct __sk_buff *skb, __u32 family, __u32 ip_offset)
{
	const struct ipcache_entry *entry;
	union address source = {};

	if (family == FAMILY_IPV4 ? bpf_skb_load_bytes(skb, ip_offset + offsetof(struct iphdr, saddr), &source, 4)
				  : bpf_skb_load_bytes(skb, ip_offset + offsetof(struct ipv6hdr, saddr), &source, 16))
		return ACTION_PASS;
	entry = ipcache_find(&source, family);
	if (unlikely(entry && (entry->endpoint_id || entry->flags & IPCACHE_FLAG_HOST)))
		return network_drop(skb, DROP_INVALID_SOURCE_ADDRESS);
	if (unlikely(!address_is_of_host(&source, family)) && network_is_of_no_host_to_node(skb, family, ip_offset))
		return network_drop(skb, DROP_INVALID_ADDRESS);
	return ACTION_PASS;
}

/* Passes a packet to the proxy of its flow, or drops it; result: that of redirect_from_network(). */
__global int network_conclude_redirect(struct __sk_buff *skb, const struct packet *packet, int result)
{
	struct conntrack_entry *entry;
	struct segment segment;

	if (!packet || result & 0xff)
		return network_drop(skb, result & 0xff);
	if (packet->first_fragment)
		network_remember(skb, packet, 0);
	if (!(result & REDIRECT_TELLS) || packet->later_fragment)
		return ACTION_PASS;
	entry = conntrack_find(packet);
	segment = packet_segment(packet);
	if (entry)
		translation_tell(skb, entry, &segment, now_ns(), packet->l4_offset);
	return ACTION_PASS;
}

/* Passes a packet to the stack that no flow is looked up for, unless it is to a proxy itself; returns the action. */
__global int network_pass_unread(struct __sk_buff *skb, __u32 family, __u32 ip_offset)
{
	return redirect_may_be_addressed(skb, family, ip_offset) ? network_drop(skb, DROP_NOT_REDIRECTED) : ACTION_PASS;
}

/* The same for a packet whose source is not judged either. */
__global int network_pass_unjudged(struct __sk_buff *skb, __u32 family, __u32 ip_offset)
{
	return network_judge_source(skb, family, ip_offset) == ACTION_PASS ? network_pass_unread(skb, family, ip_offset)
									   : TC_ACT_SHOT;
}

/* Translates an answer to a masqueraded packet, or a packet to a service, on its way to the stack. */
__global int network_translate_slowly(struct __sk_buff *skb, __u32 family)
{
	struct packet packet;
	int reason, action;

	reason = network_parse(skb, &packet, family);
	if (unlikely(reason == DROP_FRAGMENT_NOT_FOUND)) /* a copy waits: it may be of a datagram that is translated */
		return early_fragment_wait(skb, &packet, METRICS_NETWORK) == EARLY_BEGINS_AGAIN ? TC_ACT_SHOT
												: ACTION_PASS;
	if (reason || !packet_is_of_hosts(&packet)) /* no service gets it, but the stack may take it */
		return network_pass_unread(skb, family, ETH_HLEN);
	if (packet.kind == PACKET_FLOW) {
		action = hairpin_reply_slowly(skb, &packet);
		if (action != NETWORK_JUDGE)
			return action;
		reason = masquerade_answer(skb, &packet);
		if (reason >= 0)
			return reason ? network_drop(skb, reason) : ACTION_PASS;
		if (unlikely(redirect_is_addressed(&packet)))
			return network_drop(skb, DROP_NOT_REDIRECTED);
		tuple_receive(skb, &packet);
		if (unlikely(redirect_gate_is_open())) {
			reason = redirect_from_network(skb, &packet);
			if (reason != REDIRECT_UNKNOWN)
				return network_conclude_redirect(skb, &packet, reason);
		}
		if (!service_gate_is_open())
			return ACTION_PASS;
	}
	if (packet.kind == PACKET_ICMP_ERROR) {
		action = relay_error(skb, &packet);
		if (action != NETWORK_JUDGE)
			return action;
	}
	reason = network_translate(skb, &packet);
	if (likely(!reason)) {
		action = network_is_relayed() ? relay_slowly(skb, &packet) : ACTION_PASS;
		return action == NETWORK_JUDGE ? network_drop(skb, DROP_CONNTRACK_FULL) : action;
	}
	network_drop(skb, reason);
	return reason == DROP_SERVICE_UNSERVED ? packet_answer_back(skb, &packet, 0) : TC_ACT_SHOT;
}

/* Returns whether the connection of a packet of no known flow is one whose entry was evicted. */
__global int network_has_lost_entry(struct __sk_buff *skb, __u32 family)
{
	struct packet packet;

	return !network_parse(skb, &packet, family) && !conntrack_find(&packet) && masquerade_lost_answer(skb, &packet);
}

/* Judges a packet of no known flow; one that the quick parser does not read may be of a masqueraded one. */
static __always_inline int network_judge(struct __sk_buff *skb, __u8 family, bool parsed)
{
	if (unlikely(skb->tc_index == PACKET_CARRIER))
		return early_fragment_release(skb, METRICS_NETWORK);
	if (unlikely(network_judge_source(skb, family, ETH_HLEN) != ACTION_PASS))
		return TC_ACT_SHOT;
	if (unlikely(conntrack_overflow_is_used()) && network_has_lost_entry(skb, family))
		return network_drop(skb, DROP_CONNTRACK_FULL);
	return !parsed || unlikely(service_gate_is_open() || redirect_gate_is_open())
		       ? network_translate_slowly(skb, family)
		       : ACTION_PASS;
}

/*
 * Tagged frames are passed to the stack. The stack strips any number of priority tags (VLAN id 0) and processes the
 * inner packet as untagged; so its source is verified here, too, and that it is not to a proxy itself.
 */
__global int network_tagged(struct __sk_buff *skb)
{
	__be16 ethertype = skb->protocol;
	__u32 offset = ETH_HLEN;

	unrolled
	for (int i = 0; i < VLAN_TAGS_MAX; i++) {
		struct vlan_tag tag;

		if (!vlan_is_tag(ethertype))
			break;
		if (bpf_skb_load_bytes(skb, offset, &tag, sizeof(tag)))
			return network_drop(skb, DROP_MALFORMED);
		offset += sizeof(tag);
		ethertype = tag.ethertype;
	}
	if (vlan_is_tag(ethertype))
		return network_drop(skb, DROP_UNKNOWN_ETHERTYPE);
	if (ethertype != bpf_htons(ETH_P_IP) && ethertype != bpf_htons(ETH_P_IPV6))
		return ACTION_PASS;
	return network_pass_unjudged(skb, ethertype == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6, offset);
}

/* Returns whether the flow of an entry bypasses the stack in both directions. */
static __always_inline bool network_passes_stack(const struct conntrack_entry *entry, enum conntrack_side source_side)
{
	return entry_bypasses_stack(entry, source_side) && !(entry->flags & CONNTRACK_IN_STACK);
}

/*
 * Returns whether the entry is of a flow between a local workload and an outside address with a valid forward verdict,
 * and bypasses the stack in the other direction, too. No packet comes from the address of a service.
 */
static __always_inline bool network_may_deliver(const struct conntrack_entry *entry, enum conntrack_side source_side,
						const struct segment *segment, __u64 now)
{
	return likely(network_passes_stack(entry, source_side) &&
		      (likely(!entry_is_frontend(entry)) || rewrite_applies(entry, source_side)) &&
		      conntrack_is_current(entry) && !conntrack_is_expired(entry, now) &&
		      !conntrack_is_reopened(entry->flags, source_side, segment->protocol, segment->tcp_flags));
}

/* Delivers a packet to its workload, and counts it; one whose hop limit expires passes to the stack. */
static __always_inline int network_deliver(struct __sk_buff *skb, struct conntrack_entry *entry,
					   enum conntrack_side source_side, __u8 family,
					   const struct endpoint_entry *endpoint, __u32 bytes)
{
	const int action = deliver_to_workload(skb, family, endpoint->ifindex, endpoint->mac);

	if (likely(action != ACTION_PASS)) {
		if (entry->flags & CONNTRACK_COUNTED)
			conntrack_account(entry, source_side, bytes);
		metrics_count(METRICS_NETWORK, DROP_NONE, bytes);
	}
	return action;
}

/* Changes the entry by a packet that is not rewritten yet: the route is that to the peer which the packet is from. */
static __always_inline void network_advance(struct __sk_buff *skb, struct conntrack_entry *entry,
					    enum conntrack_side source_side, __u8 family, const struct segment *segment,
					    const struct endpoint_entry *endpoint, __u64 now)
{
	if (likely(conntrack_rests(entry, source_side, segment, now)))
		return;
	if (conntrack_advance_by(entry, source_side, segment, now) == CONNTRACK_REFRESHED)
		route_refresh(skb, entry, source_side, family, endpoint);
	if (unlikely(rewrite_applies(entry, source_side)))
		translation_tell_by(skb, entry, segment, now, quick_l4_offset(family));
}

/*
 * The complete path of an answer to a masqueraded packet. It gets the address of its workload wherever it goes on: where
 * the verdict of its flow does not hold any more, the program of the workload judges it.
 */
__global int network_follow_masquerade(struct __sk_buff *skb, struct conntrack_entry *entry,
				       const struct segment *segment, __u64 now)
{
	if (!entry || !segment)
		return ACTION_PASS;

	const __u8 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;
	const enum conntrack_side side = segment->source_side & 1;
	const __u32 endpoint_id = conntrack_endpoint(entry, 1 - side);
	const struct endpoint_entry *endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	const __u64 generation = conntrack_generation(entry);
	const __u32 bytes = skb->len;
	bool delivers;

	if (!rewrite_applies(entry, side) || masquerade_is_over(entry, generation, now) || !endpoint ||
	    !endpoint->ifindex || conntrack_is_reopened(entry->flags, side, segment->protocol, segment->tcp_flags))
		return NETWORK_JUDGE;
	delivers = network_passes_stack(entry, side) && generation == READ_ONCE(entry->generation);
	if (rewrite_quickly(skb, entry, family, segment->protocol))
		return network_drop(skb, DROP_MALFORMED);
	network_advance(skb, entry, side, family, segment, endpoint, now);
	return delivers ? network_deliver(skb, entry, side, family, endpoint, bytes) : ACTION_PASS;
}

static __always_inline int network_follow(struct __sk_buff *skb, struct conntrack_entry *entry,
					  enum conntrack_side source_side, __u8 family, const struct quick_l4 *l4)
{
	const struct segment *segment = &l4->segment;
	const struct endpoint_entry *endpoint;
	__u32 endpoint_id;
	const __u64 now = now_ns();
	const __u32 bytes = skb->len;

	if (unlikely(entry_is_masquerade(entry) || entry_is_relayed(entry))) {
		struct segment copy = *segment;
		int action;

		copy.source_side = source_side;
		action = entry_is_relayed(entry) ? network_relay_quickly(skb, entry, &copy, now)
						 : network_follow_masquerade(skb, entry, &copy, now);
		return unlikely(action == NETWORK_JUDGE) ? network_judge(skb, family, !entry_is_relayed(entry))
							 : action;
	}
	if (!network_may_deliver(entry, source_side, segment, now))
		return network_judge(skb, family, likely(!redirect_has_port(l4->destination_port_be)));
	endpoint_id = entry->delivery_index[1 - source_side];
	endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	if (unlikely(!endpoint || !endpoint->ifindex))
		return ACTION_PASS; /* removed a moment ago */
	network_advance(skb, entry, source_side, family, segment, endpoint, now);
	if (unlikely(rewrite_applies(entry, source_side)) && rewrite_quickly(skb, entry, family, segment->protocol))
		return network_drop(skb, DROP_MALFORMED);
	return network_deliver(skb, entry, source_side, family, endpoint, bytes);
}

static __always_inline int network_ipv4(struct __sk_buff *skb)
{
	struct quick_l4 l4;
	const struct iphdr *ip = quick_parse_ipv4(skb, &l4);
	struct conntrack_entry *entry;
	struct conntrack4_key key __attribute__((aligned(8)));
	enum conntrack_side side;

	if (!ip)
		return network_judge(skb, FAMILY_IPV4, false);
	side = conntrack4_key_of(&key, ip->saddr, ip->daddr, l4.source_port_be, l4.destination_port_be,
				 l4.segment.protocol);
	entry = conntrack4_lookup(&key, l4.segment.protocol);
	return entry ? network_follow(skb, entry, side, FAMILY_IPV4, &l4)
		     : network_judge(skb, FAMILY_IPV4, likely(!redirect_has_port(l4.destination_port_be)));
}

static __always_inline int network_ipv6(struct __sk_buff *skb)
{
	struct quick_l4 l4;
	const struct ipv6hdr *ip = quick_parse_ipv6(skb, &l4);
	struct conntrack_entry *entry;
	struct conntrack6_key key __attribute__((aligned(8)));
	enum conntrack_side side;

	if (!ip)
		return network_judge(skb, FAMILY_IPV6, false);
	side = conntrack6_key_of(&key, (const union address *)&ip->saddr, (const union address *)&ip->daddr,
				 l4.source_port_be, l4.destination_port_be, l4.segment.protocol);
	entry = conntrack6_lookup(&key, l4.segment.protocol);
	return entry ? network_follow(skb, entry, side, FAMILY_IPV6, &l4)
		     : network_judge(skb, FAMILY_IPV6, likely(!redirect_has_port(l4.destination_port_be)));
}

/*
 * Puts the Ethernet header in front of the packet again. Where a generic XDP program makes the kernel copy a packet, the
 * copy has no length of its link header, so that the frame begins at the IP header here. The header itself is in place.
 */
__global int network_restore_frame(struct __sk_buff *skb)
{
	struct ethhdr ethernet;

	if (bpf_skb_load_bytes_relative(skb, 0, &ethernet, sizeof(ethernet), BPF_HDR_START_MAC) ||
	    ethernet.h_proto != skb->protocol || bpf_skb_change_head(skb, sizeof(ethernet), 0))
		return 0;
	bpf_skb_store_bytes(skb, 0, &ethernet, sizeof(ethernet), 0);
	return 0;
}

/* Returns whether the frame begins with an Ethernet header, as far as its type tells. */
static __always_inline bool network_has_frame(const struct __sk_buff *skb)
{
	const struct ethhdr *ethernet = (void *)(long)skb->data;

	return (void *)(ethernet + 1) > (void *)(long)skb->data_end || ethernet->h_proto == skb->protocol;
}

/*
 * Returns whether an IPv6 packet is one of neighbour discovery, of this link: another host that has an address of this
 * node defends it with an advertisement from it to all nodes (RFC 4862, section 5.4.4), which the stack has to see.
 */
__global int network_is_discovery(struct __sk_buff *skb)
{
	__u8 next_header, hop_limit, type;

	return !bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, nexthdr), &next_header, 1) &&
	       !bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, hop_limit), &hop_limit, 1) &&
	       !bpf_skb_load_bytes(skb, ETH_HLEN + IPV6_HEADER_BYTES, &type, 1) && next_header == IPPROTO_ICMPV6 &&
	       hop_limit == ND_HOP_LIMIT &&
	       (type == ICMP6_NEIGHBOUR_SOLICITATION || type == ICMP6_NEIGHBOUR_ADVERTISEMENT);
}

/*
 * Does the same with a frame to a broadcast, a multicast or another address. The stack does not forward such frames, but
 * the sockets of this node get the packets in them that are to one of its addresses.
 */
__global int network_not_addressed(struct __sk_buff *skb)
{
	const bool ipv4 = skb->protocol == bpf_htons(ETH_P_IP);

	if (!ipv4 && (skb->protocol != bpf_htons(ETH_P_IPV6) || network_is_discovery(skb)))
		return ACTION_PASS;
	return network_pass_unjudged(skb, ipv4 ? FAMILY_IPV4 : FAMILY_IPV6, ETH_HLEN);
}

SEC("tc")
int from_network(struct __sk_buff *skb)
{
	if (unlikely(!network_has_frame(skb)))
		network_restore_frame(skb);
	if (unlikely(skb->vlan_present || vlan_is_tag(skb->protocol)))
		return network_tagged(skb);
	if (unlikely(skb->pkt_type != PACKET_TYPE_HOST))
		return network_not_addressed(skb);
	if (skb->protocol == bpf_htons(ETH_P_IP) && node_config.enable_ipv4)
		return network_ipv4(skb);
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && node_config.enable_ipv6)
		return network_ipv6(skb);
	return ACTION_PASS;
}

/* Completes the translation of a packet that the stack sends; returns the action. */
__global int network_complete(struct __sk_buff *skb, __u32 family)
{
	struct packet packet;
	int reason;

	reason = network_parse(skb, &packet, family);
	if (unlikely(reason == DROP_FRAGMENT_NOT_FOUND)) {
		reason = masquerade_fragment(skb, &packet);
		return reason ? network_drop(skb, reason) : ACTION_PASS;
	}
	if (reason)
		return ACTION_PASS;
	if ((family == FAMILY_IPV4 || packet.first_fragment || packet.later_fragment) && packet_is_of_node(&packet) &&
	    fragment_renumber(skb, &packet, &packet.source, &packet.destination))
		return network_drop(skb, DROP_MALFORMED);
	if (packet.kind == PACKET_FLOW) {
		reason = masquerade_leaving(skb, &packet);
		if (reason >= 0)
			return reason ? network_drop(skb, reason) : ACTION_PASS;
	}
	return network_translate_back(skb, &packet) ? network_drop(skb, DROP_MALFORMED) : ACTION_PASS;
}

/* Returns whether the program has to do with a packet of this side of the entry. */
static __always_inline bool network_completes(const struct __sk_buff *skb, const struct conntrack_entry *entry,
					      enum conntrack_side side)
{
	return unlikely(entry) &&
	       ((rewrite_applies(entry, side) && !entry_is_frontend(entry)) || masquerade_is_met(skb, entry));
}

static __always_inline bool network_passes_ipv4(struct __sk_buff *skb)
{
	struct conntrack4_key key __attribute__((aligned(8)));
	struct quick_l4 l4;
	const struct iphdr *ip = quick_parse_ipv4(skb, &l4);
	enum conntrack_side side;

	if (!ip || header_may_be_split(ip))
		return false;
	side = conntrack4_key_of(&key, ip->saddr, ip->daddr, l4.source_port_be, l4.destination_port_be,
				 l4.segment.protocol);
	return !network_completes(skb, conntrack4_lookup(&key, l4.segment.protocol), side);
}

static __always_inline bool network_passes_ipv6(struct __sk_buff *skb)
{
	struct conntrack6_key key __attribute__((aligned(8)));
	struct quick_l4 l4;
	const struct ipv6hdr *ip = quick_parse_ipv6(skb, &l4);
	enum conntrack_side side;

	if (!ip)
		return false;
	side = conntrack6_key_of(&key, (const union address *)&ip->saddr, (const union address *)&ip->daddr,
				 l4.source_port_be, l4.destination_port_be, l4.segment.protocol);
	return !network_completes(skb, conntrack6_lookup(&key, l4.segment.protocol), side);
}

SEC("tc")
int to_network(struct __sk_buff *skb)
{
	if (packet_take_complete(skb))
		return ACTION_PASS;
	if (skb->protocol == bpf_htons(ETH_P_IP) && node_config.enable_ipv4)
		return likely(network_passes_ipv4(skb)) ? ACTION_PASS : network_complete(skb, FAMILY_IPV4);
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && node_config.enable_ipv6)
		return likely(network_passes_ipv6(skb)) ? ACTION_PASS : network_complete(skb, FAMILY_IPV6);
	return ACTION_PASS;
}
