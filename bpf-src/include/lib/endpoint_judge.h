/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The slow path: packets whose flow has no valid verdict, and packets that the quick parser does not handle. */
#ifndef AGENT_LIB_ENDPOINT_JUDGE_H
#define AGENT_LIB_ENDPOINT_JUDGE_H

#include "lib/endpoint_path.h"

#define ERRNO_EXISTS -17

/* The state of a policy evaluation. */
struct judgement {
	struct flow flow;
	__u64 now;
	__u16 put_flags;  /* flags of bpf_map_update_elem for a new entry */
	__u8 source_side; /* enum conntrack_side */
	__u8 initiator;   /* enum packet_side */
};

static __always_inline bool endpoint_tracks(const struct packet *packet)
{
	return ENDPOINT_OPTION(CONNTRACK) && packet->kind == PACKET_FLOW;
}

/*
 * Returns whether an echo request comes from the responder, or an echo reply from the initiator: neither belongs to
 * this flow.
 */
static __always_inline bool icmp_contradicts(const struct packet *packet, __u32 flags, enum conntrack_side source_side)
{
	const __u8 expected = conntrack_is_initiator(flags, source_side) ? icmp_request_type(packet->family)
									 : icmp_reply_type(packet->family);

	return packet_is_icmp(packet) && packet->icmp_type != expected;
}

/* Returns whether the packet must not create an entry: an echo reply or a TCP reset without a flow. */
static __always_inline bool packet_opens_nothing(const struct packet *packet)
{
	if (packet_is_icmp(packet))
		return packet->icmp_type != icmp_request_type(packet->family);
	return packet->protocol == IPPROTO_TCP && packet->tcp_flags & TCP_RST;
}

static __always_inline void flow_of_entry(struct flow *flow, const struct conntrack_entry *entry,
					  enum conntrack_side source_side)
{
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->identity[PACKET_SOURCE] = source_side == CONNTRACK_LOW ? entry->identity[0] : entry->identity[1];
	flow->identity[PACKET_DESTINATION] = source_side == CONNTRACK_LOW ? entry->identity[1] : entry->identity[0];
}

/* Forwards or drops a packet of a flow with a valid verdict. */
static __always_inline int endpoint_follow_slowly(struct __sk_buff *skb, const struct packet *packet,
						  struct conntrack_entry *entry, struct judgement *judgement,
						  enum metrics_direction hook)
{
	const enum conntrack_side side = judgement->source_side & 1;
	const struct conntrack_delivery *delivery = side == CONNTRACK_LOW ? &entry->delivery[CONNTRACK_HIGH]
									  : &entry->delivery[CONNTRACK_LOW];
	enum conntrack_change change;

	flow_of_entry(&judgement->flow, entry, side);
	change = conntrack_advance(entry, side, packet->protocol, packet->tcp_flags, judgement->now);
	if (entry->flags & CONNTRACK_DENIED)
		return endpoint_drop(skb, packet, &judgement->flow, hook, entry->drop_reason);
	if (ENDPOINT_OPTION(CONNTRACK_ACCOUNTING))
		conntrack_account(entry, side, skb->len);
	endpoint_trace(skb, packet, &judgement->flow, hook, change);
	deliver_prepare(skb);
	return endpoint_forward(skb, packet->family, hook, delivery->ifindex, delivery->destination_mac);
}

/* Returns whether the ICMP error quotes a packet that its receiver sent in an allowed flow of this endpoint. */
__global int endpoint_error_relates(struct __sk_buff *skb, const struct packet *packet, __u32 hook)
{
	if (!packet)
		return false;

	const bool verify = hook == METRICS_EGRESS && ENDPOINT_OPTION(SOURCE_IP_VERIFICATION);
	const __u64 now = now_ns();
	const struct conntrack_entry *entry;
	struct packet quoted;
	struct flow flow;

	if (!quoted_parse(skb, packet, &quoted) || !address_equals(&quoted.source, &packet->destination) ||
	    (verify && !address_equals(&quoted.destination, &packet->source)))
		return false;
	entry = conntrack_find(&quoted);
	if (!entry || conntrack_is_expired(entry, now))
		return false;
	if (conntrack_is_current(entry))
		return !(entry->flags & CONNTRACK_DENIED);

	const bool initiator = conntrack_is_initiator(entry->flags, packet_conntrack_side(&quoted));
	const enum packet_side side = initiator ? PACKET_SOURCE : PACKET_DESTINATION;

	if (flow_find_parties(&flow, &quoted, 1 - own_side(hook), endpoint_config.endpoint_id))
		return false;
	return flow_ask_policy(&flow, side, quoted.protocol, packet_policy_port(&quoted, side)) == DROP_NONE;
}

static __always_inline __u64 conntrack_expiry(const struct judgement *judgement, __u32 flags, __u8 protocol)
{
	return judgement->now + conntrack_lifetime_ns(flags, protocol);
}

/* Counts a packet in an entry on the stack, which cannot be indexed by a variable; without a branch. */
static __always_inline void endpoint_count_packet(struct conntrack_entry *entry, enum conntrack_side side, __u32 bytes)
{
	entry->packets[CONNTRACK_LOW] += 1 - side;
	entry->packets[CONNTRACK_HIGH] += side;
	entry->bytes[CONNTRACK_LOW] += (__u64)bytes * (1 - side);
	entry->bytes[CONNTRACK_HIGH] += (__u64)bytes * side;
}

/* Creates the conntrack entry; returns a drop reason. */
__global int endpoint_open_flow(struct __sk_buff *skb, const struct packet *packet, const struct judgement *judgement)
{
	if (!packet || !judgement)
		return DROP_CONNTRACK_FULL;

	const enum conntrack_side side = judgement->source_side & 1;
	struct conntrack_entry entry;
	int error;

	flow_fill_entry(&entry, &judgement->flow, side);
	entry.flags = (side == CONNTRACK_HIGH ? CONNTRACK_INITIATOR_HIGH : 0) | judgement->flow.entry_flags |
		      conntrack_flags_of(true, side, packet->protocol, packet->tcp_flags);
	entry.expires_ns = conntrack_expiry(judgement, entry.flags, packet->protocol);
	if (ENDPOINT_OPTION(CONNTRACK_ACCOUNTING))
		endpoint_count_packet(&entry, side, skb->len);
	error = conntrack_put(packet, &entry, judgement->put_flags);
	if (likely(!error))
		return DROP_NONE;
	if (error != ERRNO_EXISTS)
		return DROP_CONNTRACK_FULL;

	/* Another CPU created the entry for a packet of the same flow. */
	struct conntrack_entry *winner = conntrack_find(packet);

	if (winner)
		conntrack_advance(winner, side, packet->protocol, packet->tcp_flags, judgement->now);
	return DROP_NONE;
}

/*
 * Writes a new verdict to the entry of a flow. The entry is replaced atomically: readers see the old or the new one. A
 * flow that is denied now keeps its entry, so that a packet of the reverse direction cannot open a new flow.
 */
__global int endpoint_renew_flow(struct __sk_buff *skb, const struct packet *packet, const struct judgement *judgement,
				 const struct conntrack_entry *old, __u32 reason)
{
	if (!packet || !judgement || !old)
		return 0;

	const enum conntrack_side side = judgement->source_side & 1;
	__u32 flags = old->flags & ~(CONNTRACK_DENIED | CONNTRACK_COUNTED | CONNTRACK_BY_STACK);
	struct conntrack_entry entry;

	flow_fill_entry(&entry, &judgement->flow, side);
	flags |= judgement->flow.entry_flags;
	flags |= conntrack_flags_of(conntrack_is_initiator(flags, side), side, packet->protocol, packet->tcp_flags);
	if (reason)
		flags |= CONNTRACK_DENIED;
	entry.flags = flags;
	entry.drop_reason = reason;
	entry.expires_ns = conntrack_expiry(judgement, flags, packet->protocol);
	__builtin_memcpy(entry.packets, old->packets, sizeof(entry.packets));
	__builtin_memcpy(entry.bytes, old->bytes, sizeof(entry.bytes));
	if (ENDPOINT_OPTION(CONNTRACK_ACCOUNTING) && !reason)
		endpoint_count_packet(&entry, side, skb->len);
	return conntrack_put(packet, &entry, BPF_ANY);
}

/* Evaluates the policy of both endpoints; returns a drop reason. */
static __always_inline int endpoint_ask_policy(struct __sk_buff *skb, const struct packet *packet,
					       struct judgement *judgement, bool renewed, enum metrics_direction hook)
{
	const enum packet_side initiator = judgement->initiator & 1;
	int reason;

	reason = flow_ask_policy(&judgement->flow, initiator, packet->protocol, packet_policy_port(packet, initiator));
	if (judgement->flow.audited &&
	    (ENDPOINT_OPTION(DROP_NOTIFICATION) || ENDPOINT_OPTION(POLICY_VERDICT_NOTIFICATION)))
		endpoint_notify(skb, packet, &judgement->flow, hook, EVENT_VERDICT, judgement->flow.audited,
				POLICY_FLAG_AUDIT);
	else if (ENDPOINT_OPTION(POLICY_VERDICT_NOTIFICATION) && !renewed)
		endpoint_notify(skb, packet, &judgement->flow, hook, EVENT_VERDICT, reason, 0);
	return reason;
}

static __always_inline int endpoint_forward_to(struct __sk_buff *skb, const struct packet *packet,
					       enum metrics_direction hook, __u32 endpoint_id)
{
	const struct endpoint_entry *endpoint;

	if (hook != METRICS_EGRESS || !endpoint_id)
		return endpoint_forward(skb, packet->family, hook, 0, NULL);
	endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	if (!endpoint)
		return endpoint_forward(skb, packet->family, hook, 0, NULL);
	deliver_prepare(skb);
	return endpoint_forward(skb, packet->family, hook, endpoint->ifindex, endpoint->mac);
}

/* Evaluates policy for a packet without a valid verdict, and stores the verdict in conntrack. */
static __always_inline int endpoint_ask(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement,
					const struct conntrack_entry *old, enum metrics_direction hook)
{
	const bool error = packet->kind == PACKET_ICMP_ERROR;
	struct flow *flow = &judgement->flow;
	int reason;

	reason = flow_find_parties(flow, packet, own_side(hook), endpoint_config.endpoint_id);
	if (reason)
		return endpoint_drop(skb, packet, flow, hook, reason);
	flow->entry_flags |= (ENDPOINT_OPTION(CONNTRACK_ACCOUNTING) ? CONNTRACK_COUNTED : 0) |
			     (ENDPOINT_OPTION(TRACE_NOTIFICATION) ? CONNTRACK_BY_STACK : 0);
	if (!error || !ENDPOINT_OPTION(CONNTRACK) || !endpoint_error_relates(skb, packet, hook)) {
		reason = endpoint_ask_policy(skb, packet, judgement, old != NULL, hook);
		if (reason && error)
			reason = DROP_ICMP_ERROR_UNTRACKED;
	}
	if (old)
		endpoint_renew_flow(skb, packet, judgement, old, reason);
	else if (!reason && endpoint_tracks(packet) && !packet_opens_nothing(packet))
		reason = endpoint_open_flow(skb, packet, judgement);
	if (reason)
		return endpoint_drop(skb, packet, flow, hook, reason);
	endpoint_trace(skb, packet, flow, hook, CONNTRACK_CREATED);
	return endpoint_forward_to(skb, packet, hook, flow->endpoint_id[PACKET_DESTINATION]);
}

/* Judges a packet after its headers are parsed; returns an action. */
static __always_inline int endpoint_judge(struct __sk_buff *skb, struct packet *packet, enum metrics_direction hook)
{
	struct judgement judgement = {
		.now = now_ns(),
		.source_side = packet_conntrack_side(packet),
		.initiator = PACKET_SOURCE,
		.put_flags = BPF_NOEXIST,
	};
	const enum conntrack_side side = judgement.source_side & 1;
	struct conntrack_entry *entry = NULL;
	struct conntrack_entry *old = NULL;

	if (endpoint_tracks(packet) && !packet->untracked)
		entry = conntrack_find(packet);
	if (entry) {
		const __u32 flags = READ_ONCE(entry->flags);

		if (conntrack_is_expired(entry, judgement.now) ||
		    conntrack_is_reopened(flags, side, packet->protocol, packet->tcp_flags)) {
			judgement.put_flags = BPF_ANY;
		} else if (icmp_contradicts(packet, flags, side)) {
			packet->kind = PACKET_STATELESS;
		} else if (endpoint_verdict_holds(entry, side, hook, packet->protocol, packet->tcp_flags,
						  judgement.now)) {
			return endpoint_follow_slowly(skb, packet, entry, &judgement, hook);
		} else if (flow_lost_endpoint(entry, side_of_source(side, own_side(hook)),
					      endpoint_config.endpoint_id)) {
			judgement.put_flags = BPF_ANY; /* the old initiator is not one of the present endpoints */
		} else {
			old = entry;
			judgement.initiator = conntrack_is_initiator(flags, side) ? PACKET_SOURCE : PACKET_DESTINATION;
		}
	}
	if (!old && packet_is_icmp(packet) && packet->kind == PACKET_FLOW && packet_opens_nothing(packet))
		packet->kind = PACKET_STATELESS;
	return endpoint_ask(skb, packet, &judgement, old, hook);
}

__global int judge_from_endpoint(struct __sk_buff *skb, struct packet *packet)
{
	return packet ? endpoint_judge(skb, packet, METRICS_EGRESS) : ACTION_PASS;
}

__global int judge_to_endpoint(struct __sk_buff *skb, struct packet *packet)
{
	return packet ? endpoint_judge(skb, packet, METRICS_INGRESS) : ACTION_PASS;
}

#endif
