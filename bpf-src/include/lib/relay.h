/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Flows of clients outside to a backend of a service that is outside, too: this node relays them, and the backend knows
 * the client by the address of this node. Both entries of such a flow rewrite both addresses of a packet: that of the
 * tuple with the frontend those of what the client sends, that of the tuple with the node's address those of what the
 * backend answers. The stack never sees a packet of them, since it takes none from the network with its own address as
 * the source; what cannot be sent on is answered in its place, or dropped.
 *
 * Flows of a service with direct server return have an entry of the first kind alone (lib/direct_return.h).
 */
#ifndef AGENT_LIB_RELAY_H
#define AGENT_LIB_RELAY_H

#include "lib/direct_return.h"
#include "lib/early_fragment.h"
#include "lib/endpoint_service.h"
#include "lib/error_translation.h"
#include "lib/fragment_identity.h"
#include "lib/metrics.h"
#include "lib/reject.h"

#define NETWORK_JUDGE -2 /* in the place of an action: the packet is of no flow that is known here */

static __always_inline int network_drop(const struct __sk_buff *skb, enum drop_reason reason)
{
	metrics_count(METRICS_NETWORK, reason, skb->len);
	return TC_ACT_SHOT;
}

/* Parses a packet of a device; returns a drop reason. */
static __always_inline int network_parse(struct __sk_buff *skb, struct packet *packet, __u8 family)
{
	__builtin_memset(packet, 0, sizeof(*packet));
	return family == FAMILY_IPV4 ? parse_ipv4(skb, packet) : parse_ipv6(skb, packet);
}

/* Rewrites both addresses of a packet by its entry; returns whether that failed. */
__global int relay_rewrite(struct __sk_buff *skb, const struct packet *packet, const struct conntrack_entry *entry)
{
	return !packet || !entry || packet_rewrite(skb, packet, entry) ||
	       packet_rewrite_with(skb, packet, entry, REWRITE_WITH_OTHER);
}

/* Numbers a packet of which the entry rewrites both addresses; returns whether it failed. */
static __always_inline bool relay_renumber(struct __sk_buff *skb, const struct packet *packet,
					   const struct conntrack_entry *entry)
{
	const union address *own = (const union address *)entry->end.address;
	const union address *other = (const union address *)entry->other.address;

	return rewrite_destination(entry) ? fragment_renumber(skb, packet, other, own)
					  : fragment_renumber(skb, packet, own, other);
}

/* The same for one that the quick parser has read. */
static __always_inline bool relay_rewrite_quickly(struct __sk_buff *skb, const struct conntrack_entry *entry,
						  __u8 family, __u8 protocol)
{
	return rewrite_quickly(skb, entry, family, protocol) || rewrite_other_quickly(skb, entry, family, protocol);
}

/* The same for an ICMP error about a packet of its flow, which judge_scratch has. */
__global int relay_rewrite_error(struct __sk_buff *skb, const struct packet *error, const struct conntrack_entry *entry)
{
	const struct judge_scratch *memory = scratch();

	return !error || !entry || !memory ||
	       error_rewrite_fails(skb, error, &memory->quoted, entry, REWRITE_WITH_END) ||
	       error_rewrite_fails(skb, error, &memory->quoted, entry, REWRITE_WITH_OTHER);
}

/* Returns the device of the network by which packets of a traffic class to an address leave, or 0. */
__global int relay_device(struct __sk_buff *skb, const union address *to, __u32 family, __u32 traffic_class)
{
	struct bpf_fib_lookup route = { .ifindex = skb->ifindex, .tot_len = 1 };
	__u32 device;
	long result;

	if (!to)
		return 0;
	if (family == FAMILY_IPV4) {
		route.family = KERNEL_FAMILY_IPV4;
		route.ipv4_dst = to->v4;
	} else {
		route.family = KERNEL_FAMILY_IPV6;
		copy_address(route.ipv6_dst, to);
	}
	route_set_class(&route, family == FAMILY_IPV4, traffic_class);
	result = bpf_fib_lookup(skb, &route, sizeof(route), 0);
	if (result != BPF_FIB_LKUP_RET_SUCCESS && result != BPF_FIB_LKUP_RET_NO_NEIGH)
		return 0;
	device = route.ifindex;
	return !(device >> 16) && bpf_map_lookup_elem(&devices, &device) ? device : 0;
}

/* Fills judge_scratch with the entry of what the backend answers, and its tuple; returns whether it may be opened. */
__global int relay_prepare(const struct packet *packet, const struct judgement *judgement, __u32 to_client,
			   __u32 to_backend)
{
	const struct device_entry *device = bpf_map_lookup_elem(&devices, &to_backend);
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	enum conntrack_side side;
	struct packet *shown;

	if (!packet || !judgement || !memory || (!device && !(to_backend & RELAY_TO_WORKLOAD)))
		return false;
	entry = &memory->entry;
	shown = &memory->quoted;
	__builtin_memcpy(shown, packet, sizeof(*shown));
	if (to_backend & RELAY_TO_WORKLOAD)
		shown->source = judgement->frontend;
	else if (device)
		device_address(device, packet->family, &shown->source);
	if (!shown->source.halves[0] && !shown->source.halves[1])
		return false;
	side = packet_conntrack_side(shown) & 1;
	entry_begin(packet, judgement, side, leg_overflow(judgement));
	entry_set_rewrite(entry, 1 - side, 0, &packet->destination, &judgement->frontend, judgement->frontend_port_be);
	entry_set_other(entry, &shown->source, &packet->source, packet->source_port_be);
	entry_set_device(entry, side == CONNTRACK_LOW, to_client, 0);
	return true;
}

/* Creates the entry of what the client sends from the tuple of the other, which was created last; returns a drop reason. */
__global int relay_open_frontend(const struct packet *packet, struct judgement *judgement, __u32 to_backend)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	enum conntrack_side side;
	union address own;
	__be16 own_port_be;

	if (!packet || !judgement || !memory)
		return DROP_CONNTRACK_FULL;
	entry = &memory->entry;
	own = memory->quoted.source;
	own_port_be = memory->quoted.source_port_be;
	side = leg_begin_frontend(memory, packet, judgement, 0);
	entry_set_other(entry, &packet->source, &own, own_port_be);
	entry_set_device(entry, side != CONNTRACK_LOW, to_backend, judgement->route_class);
	return leg_open(&memory->quoted, entry);
}

/*
 * Opens both entries of a flow, of which judge_scratch has that of the client's packets then; returns a drop reason.
 * judgement->overflow is of the entry of the answers, and frontend_overflow of the other.
 */
static __always_inline int relay_open_legs(struct __sk_buff *skb, const struct packet *packet,
					   struct judgement *judgement, __u32 to_client, __u32 to_backend)
{
	int reason;

	if (!relay_prepare(packet, judgement, to_client, to_backend))
		return DROP_SERVICE_UNSERVED;
	reason = masquerade_open_leg(skb, packet, judgement);
	if (reason)
		return reason;
	judgement->overflow = judgement->frontend_overflow;
	return relay_open_frontend(packet, judgement, to_backend);
}

/* Returns whether the flow is one of direct return: what keeps the port of the frontend, as the service says. */
static __always_inline bool direct_is_due(const struct packet *packet, const struct judgement *judgement)
{
	return judgement->forwarding == SERVICE_FORWARDING_DSR &&
	       packet->destination_port_be == judgement->frontend_port_be;
}

/*
 * Opens a flow to the backend that was selected, where the kernel has routes to both ends by guarded devices; returns a
 * drop reason.
 */
__global int relay_open(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement)
{
	__u32 to_client, to_backend;

	if (!packet || !judgement)
		return DROP_SERVICE_UNSERVED;
	judgement->overflow = endpoint_flow_overflows(packet, judgement);
	judgement->frontend_overflow = judgement->overflow;
	judgement->route_class = route_class(skb, packet->family);
	to_client = relay_device(skb, &packet->source, packet->family, 0);
	to_backend = relay_device(skb, &packet->destination, packet->family, judgement->route_class);
	if (to_backend && direct_is_due(packet, judgement))
		return direct_open(packet, judgement, to_backend);
	if (!to_client || !to_backend)
		return DROP_SERVICE_UNSERVED;
	return relay_open_legs(skb, packet, judgement, to_client, to_backend);
}

/*
 * Returns the error of a router for a packet that it cannot send on by a device (RFC 792, RFC 1191, RFC 4443). outer:
 * bytes of the header in which it is sent on.
 */
static __always_inline __u32 relay_refusal(struct __sk_buff *skb, __u8 family, __u32 device, __u32 outer)
{
	const bool ipv4 = family == FAMILY_IPV4;
	__u32 mtu = 0;

	if (!deliver_lives(skb, family))
		return ipv4 ? REJECT4_TIME_EXCEEDED : REJECT6_TIME_EXCEEDED;
	bpf_check_mtu(skb, device, &mtu, 0, 0); /* writes the MTU of the device */
	mtu -= outer;
	return (ipv4 ? REJECT4_TOO_BIG : REJECT6_TOO_BIG) | (mtu & 0xffff);
}

/* Answers a packet that cannot be sent on as a router does; returns an action. */
__global int relay_refuse(struct __sk_buff *skb, const struct packet *packet, __u32 device, __u32 outer)
{
	__u32 error;

	if (!packet)
		return TC_ACT_SHOT;
	error = relay_refusal(skb, packet->family, device, outer);
	network_drop(skb, DROP_NOT_FORWARDABLE);
	return packet_answer_back(skb, packet, error);
}

/* The same for a packet that the quick parser has read. */
__global int relay_refuse_quickly(struct __sk_buff *skb, __u32 family, __u32 device, __u32 outer)
{
	struct packet packet;

	if (network_parse(skb, &packet, family))
		return network_drop(skb, DROP_MALFORMED);
	return relay_refuse(skb, &packet, device, outer);
}

/* Returns whether packets of this side go to a workload, from outside or from itself. */
static __always_inline bool entry_is_to_workload(const struct conntrack_entry *entry, enum conntrack_side side)
{
	return entry->delivery_kind[1 - side] == CONNTRACK_TO_PEER;
}

/* Returns the device by which packets of this side leave, or their workload (RELAY_TO_WORKLOAD). */
static __always_inline __u32 entry_way(const struct conntrack_entry *entry, enum conntrack_side side)
{
	if (!entry_is_to_workload(entry, side))
		return entry->delivery_index[1 - side];
	return entry->delivery_index[1 - side] | RELAY_TO_WORKLOAD |
	       entry_translates(entry, 1 - side) * RELAY_TRANSLATES;
}

/* Returns whether a packet can be sent on by this way. */
static __always_inline bool way_passes(struct __sk_buff *skb, __u32 way, __u8 family)
{
	forget_range(skb); /* else the address of a field of it is kept, which the verifier does not take */
	return deliver_lives(skb, family) && (way & RELAY_TO_WORKLOAD || deliver_fits(skb, way));
}

/* The same for a packet as its entry sends it on, which is in an outer header for direct return. */
static __always_inline bool entry_passes(struct __sk_buff *skb, const struct conntrack_entry *entry, __u32 way,
					 __u8 family)
{
	return entry_is_direct(entry) ? direct_passes(skb, family, way) : way_passes(skb, way, family);
}

static __always_inline __u32 entry_outer_bytes(const struct conntrack_entry *entry, __u8 family)
{
	return entry_is_direct(entry) ? direct_outer_bytes(family) : 0;
}

/* Delivers a packet to a workload, or has it translated for it; returns an action. */
static __always_inline int way_deliver(struct __sk_buff *skb, const struct endpoint_entry *endpoint, __u32 way,
				       __u8 family)
{
	if (!endpoint || !deliver_address(skb, family, endpoint->mac))
		return ACTION_PASS;
	return node_config.enable_nat46 && way & RELAY_TRANSLATES ? deliver_to_translation(skb, endpoint->ifindex)
								  : (int)bpf_redirect_peer(endpoint->ifindex, 0);
}

/*
 * Sends on a packet that is rewritten, and that passes by this way; returns the action. endpoint: the workload, where it
 * goes to one. The stack gets none of them.
 */
__global int way_send(struct __sk_buff *skb, const struct endpoint_entry *endpoint, __u32 way, __u32 family,
		      __u32 direction)
{
	const __u32 bytes = skb->len;
	int action;

	deliver_prepare(skb);
	action = way & RELAY_TO_WORKLOAD ? way_deliver(skb, endpoint, way, family) : deliver_fitting(skb, family, way);
	metrics_count(direction, action == ACTION_PASS ? DROP_NOT_FORWARDABLE : DROP_NONE, bytes);
	return action == ACTION_PASS ? TC_ACT_SHOT : action;
}

/* Sets the device by which packets of a traffic class to a side of the flow leave. */
static __always_inline void relay_set_device(struct conntrack_entry *entry, enum conntrack_side to, __u32 device,
					     __u32 traffic_class)
{
	WRITE_ONCE(entry->delivery_index[to], (__u16)device);
	WRITE_ONCE(entry->delivery_kind[to], CONNTRACK_TO_NEIGHBOUR | (__u8)traffic_class);
}

/* Refreshes the device by which packets of a flow leave; the packet is rewritten already. */
__global int relay_refresh(struct __sk_buff *skb, struct conntrack_entry *entry, __u32 side, __u32 family)
{
	const __u32 traffic_class = route_class(skb, family);
	__u32 device;

	if (!entry)
		return 0;
	device = route_find(skb, family, false, skb->ifindex, traffic_class) & ~ROUTE_BY_STACK;
	if (device)
		relay_set_device(entry, 1 - (side & 1), device, traffic_class);
	return 0;
}

/* Moves a flow to the route of the packets of another class; the packet is not rewritten yet. */
__global int relay_change_class(struct __sk_buff *skb, struct conntrack_entry *entry, __u32 side, __u32 family,
				__u32 traffic_class)
{
	union address to;
	__u32 device;

	if (!entry)
		return 0;
	if (rewrite_destination(entry))
		copy_address(&to, entry->end.address);
	else
		copy_address(&to, entry->other.address);
	device = relay_device(skb, &to, family, traffic_class);
	if (device)
		relay_set_device(entry, 1 - (side & 1), device, traffic_class);
	return 0;
}

/*
 * Makes the device of a flow that of the packets of the class that this one has, which is not rewritten yet. A flow
 * whose packets are of two classes has a lookup for each change.
 */
static __always_inline void relay_follow_class(struct __sk_buff *skb, struct conntrack_entry *entry,
					       enum conntrack_side side, __u8 family)
{
	const __u32 traffic_class = route_class_quickly(skb, family);

	if (!entry_is_to_workload(entry, side) && route_is_of_other_class(entry, 1 - side, traffic_class))
		relay_change_class(skb, entry, side, family, traffic_class);
}

/*
 * Changes the entries of a flow by a packet that is rewritten; returns an enum conntrack_change. l4_offset: 0 where the
 * packet has no ports.
 */
static __always_inline int relay_advance(struct __sk_buff *skb, struct conntrack_entry *entry,
					 const struct segment *segment, __u64 now, __u32 way, __u8 family,
					 __u32 l4_offset)
{
	const enum conntrack_side side = segment->source_side & 1;
	int change;

	if (conntrack_rests(entry, side, segment, now))
		return CONNTRACK_UNCHANGED;
	change = conntrack_advance(entry, side, segment, now);
	if (change == CONNTRACK_REFRESHED && !(way & RELAY_TO_WORKLOAD))
		relay_refresh(skb, entry, side, family);
	if (l4_offset)
		translation_tell(skb, entry, segment, now, l4_offset);
	return change;
}

/* Sends on a packet of a flow of which neither side is a workload, and changes its entries; returns an action. */
__global int relay_send(struct __sk_buff *skb, struct conntrack_entry *entry, const struct segment *segment, __u64 now,
			__u32 l4_offset)
{
	if (!entry || !segment)
		return TC_ACT_SHOT;

	const __u8 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;

	relay_advance(skb, entry, segment, now, 0, family, l4_offset);
	return way_send(skb, NULL, entry->delivery_index[1 - (segment->source_side & 1)], family, METRICS_NETWORK);
}

/* Returns whether neither side of the flow is a workload. */
static __always_inline bool entry_is_transit(const struct conntrack_entry *entry)
{
	const __u32 outside = CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH;

	return (entry->flags & outside) == outside;
}

/* Returns whether the entry relays a packet of this side, of a flow that goes on. */
static __always_inline bool relay_holds(const struct conntrack_entry *entry, const struct segment *segment,
					enum conntrack_side side, __u64 now)
{
	return entry_is_relayed(entry) && rewrite_applies(entry, side) && !conntrack_is_expired(entry, now) &&
	       !conntrack_is_reopened(READ_ONCE(entry->flags), side, segment->protocol, segment->tcp_flags);
}

/* Sends a packet of a flow of direct return to its backend, and changes the entry; returns an action. */
__global int direct_send(struct __sk_buff *skb, struct conntrack_entry *entry, const struct segment *segment, __u64 now)
{
	if (!entry || !segment)
		return TC_ACT_SHOT;

	const __u8 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;
	const enum conntrack_side side = segment->source_side & 1;

	if (!conntrack_rests(entry, side, segment, now) && direct_advance(entry, segment, now) == CONNTRACK_REFRESHED)
		relay_change_class(skb, entry, side, family, route_class_quickly(skb, family));
	return direct_forward(skb, entry, entry->delivery_index[1 - side]);
}

/* The complete path of a packet of a relayed flow that the quick parser reads; returns an action or NETWORK_JUDGE. */
__global int relay_quickly(struct __sk_buff *skb, struct conntrack_entry *entry, const struct segment *segment,
			   __u64 now)
{
	if (!entry || !segment)
		return NETWORK_JUDGE;

	const __u8 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;
	const enum conntrack_side side = segment->source_side & 1;
	__u32 device;

	if (!relay_holds(entry, segment, side, now) || (rewrite_destination(entry) && !conntrack_is_current(entry)))
		return NETWORK_JUDGE;
	relay_follow_class(skb, entry, side, family);
	device = entry->delivery_index[1 - side];
	if (!entry_passes(skb, entry, device, family))
		return relay_refuse_quickly(skb, family, device, entry_outer_bytes(entry, family));
	if (entry_is_direct(entry))
		return direct_send(skb, entry, segment, now);
	if (relay_rewrite_quickly(skb, entry, family, segment->protocol))
		return network_drop(skb, DROP_MALFORMED);
	return relay_send(skb, entry, segment, now, quick_l4_offset(family));
}

/* The same for a packet that it does not read, or that has opened its flow or keeps it by a change of backends. */
__global int relay_slowly(struct __sk_buff *skb, const struct packet *packet)
{
	const __u64 now = now_ns();
	struct conntrack_entry *entry;
	struct segment segment;
	enum conntrack_side side;
	__u32 device;

	if (!packet)
		return NETWORK_JUDGE;
	side = packet_conntrack_side(packet) & 1;
	segment = packet_segment(packet);
	segment.source_side = side;
	entry = conntrack_find(packet);
	if (!entry || !relay_holds(entry, &segment, side, now))
		return NETWORK_JUDGE;
	deliver_prepare(skb);
	relay_follow_class(skb, entry, side, packet->family);
	device = entry->delivery_index[1 - side];
	if (packet->first_fragment)
		network_remember(skb, packet, 0);
	if (!entry_passes(skb, entry, device, packet->family))
		return relay_refuse(skb, packet, device, entry_outer_bytes(entry, packet->family));
	if (entry_is_direct(entry))
		return direct_send(skb, entry, &segment, now);
	if (relay_rewrite(skb, packet, entry) || relay_renumber(skb, packet, entry))
		return network_drop(skb, DROP_MALFORMED);
	return relay_send(skb, entry, &segment, now, packet->later_fragment ? 0 : packet->l4_offset);
}

/*
 * Returns the entry that rewrites an ICMP error about a packet of a relayed flow which the receiver of the error has
 * sent, or NULL. judge_scratch has that packet then.
 */
static __always_inline struct conntrack_entry *relay_of_error(struct __sk_buff *skb, const struct packet *error,
							      struct judge_scratch *memory)
{
	struct conntrack_entry *entry;

	if (!quoted_parse(skb, error, &memory->quoted) || !address_equals(&memory->quoted.source, &error->destination))
		return NULL;
	entry = conntrack_find(&memory->quoted);
	if (!entry || !entry_is_relayed(entry) || conntrack_is_expired(entry, now_ns()) ||
	    !rewrite_applies(entry, error_side(&memory->quoted) & 1))
		return NULL;
	return entry;
}

/* Translates an ICMP error about a packet that was relayed, and sends it to who sent that; as relay_slowly(). */
__global int relay_error(struct __sk_buff *skb, const struct packet *error)
{
	struct judge_scratch *memory = scratch();
	const struct endpoint_entry *endpoint = NULL;
	const struct conntrack_entry *entry;
	enum conntrack_side side;
	__u32 way;

	if (!error || !memory)
		return NETWORK_JUDGE;
	entry = relay_of_error(skb, error, memory);
	side = error_side(&memory->quoted) & 1;
	if (!entry || conntrack_endpoint(entry, side))
		return NETWORK_JUDGE;
	way = entry_way(entry, side);
	if (way & RELAY_TO_WORKLOAD) {
		const __u32 endpoint_id = (__u16)way;

		endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
		if (!endpoint || !endpoint->ifindex)
			return NETWORK_JUDGE;
		if (!conntrack_is_current(entry))
			return network_drop(skb, DROP_ICMP_ERROR_UNTRACKED);
	}
	deliver_prepare(skb);
	if (!entry_passes(skb, entry, way, error->family))
		return network_drop(skb, DROP_NOT_FORWARDABLE);
	if (entry_is_direct(entry))
		return direct_forward(skb, entry, way);
	if (relay_rewrite_error(skb, error, entry))
		return network_drop(skb, DROP_MALFORMED);
	return way_send(skb, endpoint, way, error->family, METRICS_NETWORK);
}

#endif
