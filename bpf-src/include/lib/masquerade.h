/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Masquerading: what a workload sends to the outside leaves with the address of this node on its device. The entry of
 * the first leg has the tuple of the workload, and rewrites the source where a packet leaves; that of the second leg has
 * the tuple that the outside sees, and rewrites the destination where an answer comes in (lib/translation.h). So the
 * programs of the workload, and the stack, know the flow by the workload's own tuple. No two flows have one tuple
 * outside: the second leg is inserted only where there is no entry yet.
 */
#ifndef AGENT_LIB_MASQUERADE_H
#define AGENT_LIB_MASQUERADE_H

#include "lib/leg.h"
#include "lib/port_share.h"
#include "lib/service.h"

#define MASQUERADE_TRIES 64

enum masquerade_try {
	MASQUERADE_TAKEN = 0, /* the port belongs to another flow or to a socket of this node */
	MASQUERADE_OPENED = 1,
	MASQUERADE_FULL = 2, /* the table takes no entry */
};

static __always_inline bool prefix4_contains(const volatile __u8 *prefix, __u32 length, __be32 address)
{
	const __u32 mask = length ? ~0U << (32 - length) : 0;

	return !((bpf_ntohl(*(const volatile __be32 *)prefix) ^ bpf_ntohl(address)) & mask);
}

static __always_inline bool prefix6_contains(const volatile __u8 *prefix, __u32 length, const union address *address)
{
	const volatile __u32 *words = (const volatile __u32 *)prefix;

	unrolled
	for (__u32 i = 0; i < 4; i++) {
		const __u32 bits = length > 32 * i ? length - 32 * i : 0;
		const __u32 mask = bits >= 32 ? ~0U : bits ? ~0U << (32 - bits) : 0;

		if ((bpf_ntohl(words[i]) ^ bpf_ntohl(address->words[i])) & mask)
			return false;
	}
	return true;
}

/* Returns whether packets to an IPv4 address may leave masqueraded: it is one of another host, and not of the link. */
static __always_inline bool masquerade4_is_due(__be32 address)
{
	const __u32 host = bpf_ntohl(address);

	return host >> 28 < 0xe && host >> 24 && host >> 24 != 127 && host >> 16 != 0xa9fe &&
	       !(node_config.native4_length &&
		 prefix4_contains(node_config.native4, node_config.native4_length - 1, address));
}

static __always_inline bool masquerade6_is_due(const union address *address)
{
	const __u32 first = bpf_ntohl(address->words[0]);

	return first >> 24 != 0xff && first >> 22 != 0xfe80 >> 6 && (address->halves[0] || address->words[2]) &&
	       !(node_config.native6_length &&
		 prefix6_contains(node_config.native6, node_config.native6_length - 1, address));
}

/* Returns whether a workload opens a flow to the outside by this packet with its own address. */
static __always_inline bool flow_leaves(const struct endpoint_entry *endpoint, const struct packet *packet,
					const struct judgement *judgement)
{
	const __u32 needed = OPTION_HOST_ROUTING | OPTION_CONNTRACK;

	if ((endpoint->options & needed) != needed || packet->kind != PACKET_FLOW ||
	    judgement->initiator != PACKET_SOURCE || judgement->flow.endpoint_id[PACKET_DESTINATION] ||
	    judgement->flow.entry_flags & CONNTRACK_TO_NODE)
		return false;
	if (packet->protocol == IPPROTO_TCP && (packet->tcp_flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK))
		return false; /* an answer to a connection whose entry was lost */
	if (packet->family == FAMILY_IPV4)
		return *(const __be32 *)endpoint->ipv4 == packet->source.v4 &&
		       masquerade4_is_due(packet->destination.v4);
	return address_equals((const union address *)endpoint->ipv6, &packet->source) &&
	       masquerade6_is_due(&packet->destination);
}

/* Copies the address that flows by a device get there; zero where it has none. */
static __always_inline void device_address(const struct device_entry *device, __u8 family, union address *address)
{
	__builtin_memset(address, 0, sizeof(*address));
	if (family == FAMILY_IPV4)
		address->v4 = *(const __be32 *)device->ipv4;
	else
		__builtin_memcpy(address, device->ipv6, sizeof(*address));
}

/* Returns whether flows by a device get an address there. */
static __always_inline bool device_has_address(__u8 family, __u32 ifindex)
{
	const struct device_entry *device = bpf_map_lookup_elem(&devices, &ifindex);
	union address address;

	if (!device)
		return false;
	device_address(device, family, &address);
	return address.halves[0] || address.halves[1];
}

/* Chooses the address of a device for a flow that leaves by it; a device without one leaves the flow its own. */
static __always_inline void masquerade_by(struct judgement *judgement, __u8 family, __u32 ifindex)
{
	const struct device_entry *device = bpf_map_lookup_elem(&devices, &ifindex);

	if (!device)
		return;
	device_address(device, family, &judgement->frontend);
	judgement->masquerades = judgement->frontend.halves[0] || judgement->frontend.halves[1];
}

#define ROUTE_OPENS 2 /* with the hook: the packet opens the flow */

/*
 * Finds the device by which a flow with an outside address bypasses the stack, and the address that one which the
 * packet opens gets there.
 */
__global int judgement_route(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement,
			     const struct endpoint_entry *endpoint, __u32 hook)
{
	if (!packet || !judgement || !endpoint)
		return 0;

	const struct flow *flow = &judgement->flow;
	const bool leaves = hook == (METRICS_EGRESS | ROUTE_OPENS) && flow_leaves(endpoint, packet, judgement);
	const bool bypasses = !(flow->endpoint_id[PACKET_SOURCE] && flow->endpoint_id[PACKET_DESTINATION]) &&
			      ENDPOINT_OPTION(CONNTRACK) && route_may_bypass(endpoint, flow->entry_flags);
	__u32 found;

	if (!leaves && !bypasses)
		return 0;
	if ((hook & 1) == METRICS_EGRESS)
		judgement->route_class = route_class(skb, packet->family);
	found = route_find(skb, packet->family, (hook & 1) == METRICS_INGRESS, endpoint->ifindex,
			   judgement->route_class);
	if (bypasses && !(found & ROUTE_BY_STACK))
		judgement->device = found;
	if (leaves && judgement->translated) {
		judgement->device = found & ~ROUTE_BY_STACK;
		judgement->masquerades = device_has_address(packet->family, judgement->device);
	} else if (leaves)
		masquerade_by(judgement, packet->family, found & ~ROUTE_BY_STACK);
	return 0;
}

/* Returns whether a socket of this node takes a packet of TCP or UDP with these ends, or a connection by it. */
static __always_inline bool node_has_socket(struct __sk_buff *skb, const struct packet *packet,
					    const union address *source, const union address *destination,
					    __be16 source_port_be, __be16 destination_port_be)
{
	struct bpf_sock_tuple tuple;
	struct bpf_sock *socket = NULL;
	__u32 bytes = sizeof(tuple.ipv4);

	if (packet->protocol != IPPROTO_TCP && packet->protocol != IPPROTO_UDP)
		return false;
	__builtin_memset(&tuple, 0, sizeof(tuple));
	if (packet->family == FAMILY_IPV4) {
		tuple.ipv4.saddr = source->v4;
		tuple.ipv4.daddr = destination->v4;
		tuple.ipv4.sport = source_port_be;
		tuple.ipv4.dport = destination_port_be;
	} else {
		__builtin_memcpy(tuple.ipv6.saddr, source, sizeof(tuple.ipv6.saddr));
		__builtin_memcpy(tuple.ipv6.daddr, destination, sizeof(tuple.ipv6.daddr));
		tuple.ipv6.sport = source_port_be;
		tuple.ipv6.dport = destination_port_be;
		bytes = sizeof(tuple.ipv6);
	}
	if (packet->protocol == IPPROTO_TCP)
		socket = bpf_skc_lookup_tcp(skb, &tuple, bytes, BPF_F_CURRENT_NETNS, 0);
	else
		socket = bpf_sk_lookup_udp(skb, &tuple, bytes, BPF_F_CURRENT_NETNS, 0);
	if (!socket)
		return false;
	bpf_sk_release(socket);
	return true;
}

/*
 * Returns whether a socket of this node takes the answers to a packet, or would take a connection by its peer. A function
 * of its own, whose stack holds nothing else.
 */
__global int masquerade_meets_socket(struct __sk_buff *skb, const struct packet *shown)
{
	return shown && node_has_socket(skb, shown, &shown->destination, &shown->source, shown->destination_port_be,
					shown->source_port_be);
}

/* Returns whether this flow takes the place of an expired one, of which only one CPU can. */
static __always_inline bool entry_is_claimed(struct conntrack_entry *taken, __u64 now)
{
	const __u64 expires_ns = READ_ONCE(taken->expires_ns);

	return expires_ns <= now &&
	       __sync_val_compare_and_swap(&taken->expires_ns, expires_ns, now + NS_PER_SECOND) == expires_ns;
}

static __always_inline bool ends_are_same(const struct conntrack_end *taken, const struct conntrack_end *wanted)
{
	return end_is(taken, (const union address *)wanted->address, wanted->port_be);
}

/* Returns whether the entry is the second leg of the same flow of the same workload, or of the same client outside. */
static __always_inline bool masquerade_is_own(const struct conntrack_entry *taken, const struct conntrack_entry *wanted)
{
	const bool same = entry_is_masquerade(taken) ||
			  (entry_is_relayed(taken) && ends_are_same(&taken->other, &wanted->other));

	return same && taken->rewrite == wanted->rewrite && ends_are_same(&taken->end, &wanted->end);
}

/*
 * Returns whether the second leg of a flow would have the tuple of the first, of which both addresses are rewritten: the
 * backend is the client, and has its port.
 */
static __always_inline bool legs_are_same(const struct packet *shown, const struct conntrack_entry *entry)
{
	return entry->rewrite & CONNTRACK_REWRITE_BOTH && end_is(&entry->end, &shown->source, shown->source_port_be) &&
	       end_is(&entry->other, &shown->destination, shown->destination_port_be);
}

static __always_inline bool flow_is_half_open(const struct conntrack_entry *entry, __u8 protocol)
{
	const __u32 needed = protocol == IPPROTO_TCP ? CONNTRACK_ESTABLISHED : CONNTRACK_SEEN_REPLY;

	return (READ_ONCE(entry->flags) & needed) != needed;
}

/*
 * Ends a masqueraded flow by the entry of its second leg. shown: a packet with the tuple of that leg, in which the
 * address of the workload is put for a while.
 */
__global int masquerade_end(struct packet *shown, struct conntrack_entry *second)
{
	struct conntrack_entry *first;
	union address source;
	__be16 source_port_be;

	if (!shown || !second)
		return 0;
	source = shown->source;
	source_port_be = shown->source_port_be;
	tuple_set_end(packet_tuple(shown), &second->end, false);
	first = conntrack_find(shown);
	shown->source = source;
	shown->source_port_be = source_port_be;
	if (first && entry_is_masqueraded(first) && !rewrite_destination(first) && first->end.port_be == source_port_be)
		WRITE_ONCE(first->expires_ns, 0);
	WRITE_ONCE(second->expires_ns, 0);
	return 0;
}

/*
 * Remembers the oldest of the half-open flows of the endpoint that is to get a port: one that has no answer, so
 * that a flow of the same endpoint may have its port. All of them live as long after their last packet.
 */
static __always_inline void masquerade_note_oldest(struct judge_scratch *memory, const struct conntrack_entry *taken,
						   __u32 port)
{
	const struct conntrack_entry *entry = &memory->entry;
	const __u64 expires_ns = READ_ONCE(taken->expires_ns);

	if (!entry_is_masquerade(entry) || !entry_is_masquerade(taken) || !leg_is_of_workload(entry, taken) ||
	    !flow_is_half_open(taken, memory->quoted.protocol) ||
	    (memory->oldest_port && memory->oldest_ns <= expires_ns))
		return;
	memory->oldest_ns = expires_ns;
	memory->oldest_port = port;
}

/* Tries to open the second leg, which judge_scratch has, with a port; returns an enum masquerade_try. */
__global int masquerade_try(struct __sk_buff *skb, __u64 now, __u32 port)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry, *taken;
	struct packet *shown;
	__u64 flags = BPF_NOEXIST;
	int error;

	if (!memory)
		return MASQUERADE_FULL;
	entry = &memory->entry;
	shown = &memory->quoted;
	shown->source_port_be = bpf_htons(port);
	if (legs_are_same(shown, entry))
		return MASQUERADE_TAKEN;
	taken = conntrack_find(shown);
	if (taken) {
		if (!masquerade_is_own(taken, entry) && !entry_is_claimed(taken, now)) {
			masquerade_note_oldest(memory, taken, port);
			return MASQUERADE_TAKEN;
		}
		entry->flags = (entry->flags & ~CONNTRACK_OVERFLOW) | (taken->flags & CONNTRACK_OVERFLOW);
		flags = BPF_ANY;
	}
	if (masquerade_meets_socket(skb, shown))
		return MASQUERADE_TAKEN;
	error = conntrack_put(shown, entry, flags);
	if (!error)
		return MASQUERADE_OPENED;
	return error == ERRNO_EXISTS ? MASQUERADE_TAKEN : MASQUERADE_FULL;
}

/* Opens the second leg with the port of the oldest flow that masquerade_note_oldest() has found, which it ends. */
__global int masquerade_take_oldest(struct __sk_buff *skb, __u32 endpoint_id, __u64 now)
{
	struct judge_scratch *memory = scratch();
	int result = MASQUERADE_TAKEN;
	struct conntrack_entry *taken;

	if (!memory)
		return MASQUERADE_FULL;
	if (memory->oldest_port) {
		memory->quoted.source_port_be = bpf_htons(memory->oldest_port);
		taken = conntrack_find(&memory->quoted);
		if (taken && entry_is_masquerade(taken) && leg_is_of_workload(&memory->entry, taken) &&
		    flow_is_half_open(taken, memory->quoted.protocol))
			masquerade_end(&memory->quoted, taken);
		result = masquerade_try(skb, now, memory->oldest_port);
	}
	if (result != MASQUERADE_FULL)
		port_usage_count(endpoint_id, result == MASQUERADE_TAKEN);
	return result;
}

/*
 * Opens the second leg with the port of the workload, or another where that is taken or a socket of this node could get
 * it: the kernel does not know this flow when it takes a port for a socket. Where all that it tries are taken, a
 * half-open flow of the same endpoint ends. Returns an enum masquerade_try.
 */
__global int masquerade_take_port(struct __sk_buff *skb, const struct packet *packet, __u32 endpoint_id, __u64 now)
{
	struct judge_scratch *memory = scratch();
	int result = MASQUERADE_TAKEN;
	__u64 number;

	if (!packet || !memory)
		return MASQUERADE_FULL;
	memory->oldest_port = 0;
	if (!port_is_free(packet) || port_is_kept(packet, endpoint_id))
		result = masquerade_try(skb, now, bpf_ntohs(packet->source_port_be));
	if (result != MASQUERADE_TAKEN || !port_is_free(packet))
		return result;
	number = sender_hash(packet);
	unrolled
	for (int i = 1; i < MASQUERADE_TRIES; i++) {
		result = masquerade_try(skb, now, masquerade_port(number >> 32, endpoint_id));
		if (result != MASQUERADE_TAKEN)
			return result;
		number = number * 0x5851f42d4c957f2d + 1; /* a sequence of its own: equal steps would meet in runs */
	}
	return masquerade_take_oldest(skb, endpoint_id, now);
}

/* Opens the second leg of a flow, which judge_scratch has; returns a drop reason. */
static __always_inline int masquerade_open_leg(struct __sk_buff *skb, const struct packet *packet,
					       const struct judgement *judgement)
{
	const int result = masquerade_take_port(skb, packet, judgement->flow.endpoint_id[PACKET_SOURCE],
						judgement->now);

	if (result == MASQUERADE_OPENED)
		return DROP_NONE;
	return result == MASQUERADE_TAKEN ? DROP_PORTS_EXHAUSTED : DROP_CONNTRACK_FULL;
}

/* Fills judge_scratch with the second leg of a flow; returns whether there is memory for it. */
__global int masquerade_prepare(const struct packet *packet, const struct judgement *judgement)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	enum conntrack_side side;
	struct packet *shown;
	bool overflows;

	if (!packet || !judgement || !memory)
		return false;
	entry = &memory->entry;
	shown = &memory->quoted;
	__builtin_memcpy(shown, packet, sizeof(*shown));
	shown->source = judgement->frontend;
	side = packet_conntrack_side(shown) & 1;
	overflows = flow_usage_open(judgement->flow.endpoint_id[PACKET_SOURCE], flow_table(packet));
	entry_begin(packet, judgement, side, overflows ? CONNTRACK_OVERFLOW : 0);
	entry->opened_at = conntrack_time(judgement->now);
	entry_set_rewrite(entry, 1 - side, CONNTRACK_REWRITE_DESTINATION | CONNTRACK_REWRITE_MASQUERADE,
			  &judgement->frontend, &packet->source, packet->source_port_be);
	entry_set_ways(entry, judgement);
	return true;
}

/* Opens the second leg of a flow, before endpoint_open_flow() opens the first; returns a drop reason. */
static __always_inline int masquerade_open(struct __sk_buff *skb, const struct packet *packet,
					   struct judgement *judgement)
{
	const struct judge_scratch *memory = scratch();
	int reason;

	if (!memory || !masquerade_prepare(packet, judgement))
		return DROP_CONNTRACK_FULL;
	reason = masquerade_open_leg(skb, packet, judgement);
	judgement->frontend_port_be = memory->quoted.source_port_be;
	return reason;
}

/* Returns whether an entry is that which answers to a masqueraded packet find. */
static __always_inline bool leg_is_of_packet(const struct conntrack_entry *other, const struct packet *packet)
{
	return entry_is_masquerade(other) && end_is(&other->end, &packet->source, packet->source_port_be);
}

/* Returns whether the entry that answers to a packet find, which the entry of the first leg rewrites, is not its own. */
__global int masquerade_lost_leg(const struct packet *packet, const struct conntrack_entry *first)
{
	struct judge_scratch *memory = scratch();
	const struct conntrack_entry *second;

	if (!packet || !first || !memory)
		return false;
	leg_show(&memory->quoted, packet, first, packet_conntrack_side(packet) & 1);
	second = conntrack_find(&memory->quoted);
	return !second || !leg_is_of_packet(second, packet);
}

#endif
