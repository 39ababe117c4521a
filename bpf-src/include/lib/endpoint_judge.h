/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The slow path: packets whose flow has no valid verdict, and packets that the quick parser does not handle. */
#ifndef AGENT_LIB_ENDPOINT_JUDGE_H
#define AGENT_LIB_ENDPOINT_JUDGE_H

#include "lib/lost_flow.h"
#include "lib/nat46_judge.h"
#include "lib/hairpin.h"
#include "lib/quoted_flow.h"
#include "lib/redirect.h"

/* Returns whether the packet must not create an entry: an echo reply or a TCP reset without a flow. */
static __always_inline bool packet_opens_nothing(const struct packet *packet)
{
	if (packet_is_icmp(packet))
		return packet->icmp_type != icmp_request_type(packet->family);
	return packet->protocol == IPPROTO_TCP && packet->tcp_flags & TCP_RST;
}

/* Returns the sides of the packet, as bits, whose policy judges each packet, and not the flow. */
static __always_inline __u32 untracked_sides(__u32 flags, enum conntrack_side source_side)
{
	const __u32 low = flags & CONNTRACK_UNTRACKED_LOW ? 1U << PACKET_SOURCE : 0;
	const __u32 high = flags & CONNTRACK_UNTRACKED_HIGH ? 1U << PACKET_SOURCE : 0;

	return source_side == CONNTRACK_LOW ? low | high << 1 : high | low << 1;
}

/* The policy of the sides that do not track flows judges a packet as if it opened one; returns a drop reason. */
__global int judge_untracked(struct flow *flow, struct packet *packet, __u32 sides)
{
	if (!flow || !packet)
		return DROP_NO_ENDPOINT;
	if (packet_is_icmp(packet) && packet_opens_nothing(packet))
		packet->kind = PACKET_STATELESS;
	flow->redirect = REDIRECT_NONE;

	const int reason = flow_ask_policy(flow, packet, PACKET_SOURCE, sides);

	return !reason && flow->redirect ? DROP_NO_PROXY : reason;
}

/* Handles a packet of a flow that a proxy handles to it, or one that the proxy sends to the workload. */
static __always_inline int endpoint_follow_redirect(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						    const struct packet *packet, struct conntrack_entry *entry,
						    const struct segment *segment, __u64 now,
						    enum metrics_direction hook)
{
	int result = hook == METRICS_EGRESS ? redirect_follow(skb, packet, entry, now)
					    : redirect_deliver(skb, packet, entry, now);

	forget_range(result);
	if (result & 0xff)
		return action_drop(result & 0xff);
	if (result && !packet->later_fragment)
		translation_tell(skb, entry, segment, now,
				 packet->l4_offset | (result & REDIRECT_TELLS_SOCKET ? TELL_BY_OTHER : 0));
	return endpoint_forward(skb, endpoint, packet->family, hook, 0);
}

/* Forwards or drops a packet of a flow with a valid verdict. */
static __always_inline int endpoint_follow_slowly(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						  struct packet *packet, struct conntrack_entry *entry,
						  struct judgement *judgement, enum metrics_direction hook)
{
	const enum conntrack_side side = judgement->source_side & 1;
	const struct segment segment = packet_segment(packet);
	struct flow *flow = &judgement->flow;
	const __u32 flags = entry->flags;
	const enum conntrack_side denied_side = flags & CONNTRACK_DENIED_BY_HIGH ? CONNTRACK_HIGH : CONNTRACK_LOW;
	const __u32 peer_id = conntrack_peer_of(entry, side);
	enum conntrack_change change;

	judgement_follow(judgement, entry, side);
	if ((flags & (CONNTRACK_PROXIED | CONNTRACK_DENIED)) == CONNTRACK_PROXIED)
		return endpoint_follow_redirect(skb, endpoint, packet, entry, &segment, judgement->now, hook);
	if (rewrite_applies(entry, side) && rewrite_destination(entry) && service_follow(skb, packet, judgement, entry))
		return action_drop(DROP_MALFORMED);
	flow_of_entry(flow, entry, side);
	change = conntrack_advance(entry, side, &segment, judgement->now);
	if (change == CONNTRACK_REFRESHED)
		route_refresh(skb, entry, side, packet->family, endpoint);
	else if (change == CONNTRACK_STATE_CHANGED && hook == METRICS_EGRESS &&
		 unlikely(overflow_flow_is_answered(entry->flags, packet->protocol)))
		flow_note_answer(packet, judgement->now);
	if (change != CONNTRACK_UNCHANGED)
		packet_tell_other_leg(skb, packet, entry, side, &segment, judgement->now);
	if (hook == METRICS_INGRESS)
		origin_remember(entry, side, receiving_ifindex(skb));
	if (flags & CONNTRACK_DENIED)
		return endpoint_drop_by(skb, endpoint, packet, flow, hook, entry->drop_reason,
					denied_side == side ? PACKET_SOURCE : PACKET_DESTINATION);
	if (unlikely(flags & (CONNTRACK_UNTRACKED_LOW | CONNTRACK_UNTRACKED_HIGH))) {
		const int reason = judge_untracked(flow, packet, untracked_sides(flags, side));

		if (reason)
			return endpoint_drop_by(skb, endpoint, packet, flow, hook, reason, flow->denied_side & 1);
	}
	endpoint_account(skb, endpoint, entry, side, hook);
	endpoint_trace(skb, endpoint, packet, flow, hook, change);
	if (source_rewrite_is_due(skb, endpoint, entry, side, hook, peer_id) &&
	    packet_rewrite_fails(skb, packet, entry, side))
		return action_drop(DROP_MALFORMED);
	deliver_prepare(skb);
	return endpoint_forward(skb, endpoint, packet->family, hook, peer_id);
}

/* The policy of both endpoints judges a packet without a flow; returns a drop reason. */
static __always_inline int judge_new_flow(const struct packet *packet, struct judgement *judgement,
					  enum metrics_direction hook)
{
	int reason = judgement->asked;

	if (reason == POLICY_NOT_ASKED)
		reason = flow_ask_policy(&judgement->flow, packet, PACKET_SOURCE, FLOW_BOTH_SIDES);
	if (packet->protocol != IPPROTO_TCP || packet->kind != PACKET_FLOW || packet->tcp_flags & TCP_RST ||
	    tcp_is_opening(packet->tcp_flags))
		return reason;
	return judge_lost_flow(packet, judgement, hook, reason);
}

/*
 * Finds the parties of a packet without an entry, and asks their policies at once, unless that depends on the kind of
 * an ICMP message. One function, since a call costs as much as a lookup where the kernel protects returns.
 */
__global int judge_parties(const struct packet *packet, struct judgement *judgement, __u32 own_side, __u32 own_id,
			   __u64 origin)
{
	int reason;

	if (!packet || !judgement)
		return DROP_NO_ENDPOINT;
	reason = flow_find_sides(&judgement->flow, packet, own_side & 1, own_id, origin);
	if (!reason && !packet_is_icmp(packet))
		judgement->asked = flow_ask_sides(&judgement->flow, packet, PACKET_SOURCE, FLOW_BOTH_SIDES);
	return reason;
}

/* The policy of the endpoints that track flows judges the flow of an entry again; returns a drop reason. */
__global int judge_known_flow(const struct packet *packet, struct judgement *judgement, __u32 flags)
{
	if (!packet || !judgement)
		return DROP_NO_ENDPOINT;

	struct flow *flow = &judgement->flow;
	const __u32 tracked = flow_tracked_sides(flow);
	const enum packet_side initiator = judgement->initiator & 1;
	const int reason = flow_ask_policy(flow, packet, initiator, tracked);

	if (reason || !(flags & CONNTRACK_DIRECTION_UNKNOWN))
		return reason;
	return flow_ask_policy(flow, packet, 1 - initiator, tracked);
}

/* Notifies the verdict on a flow where the options ask for it. A denial is notified as a drop. */
static __always_inline void endpoint_tell_verdict(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						  const struct packet *packet, const struct flow *flow, int reason,
						  bool renewed, enum metrics_direction hook)
{
	if (flow->audited && !reason) {
		const bool own = flow->denied_side == own_side(hook);
		const __u32 peer_id = flow->endpoint_id[1 - own_side(hook)];
		const struct endpoint_entry *judge = own ? endpoint : bpf_map_lookup_elem(&endpoints, &peer_id);

		if (judge && judge->options & (OPTION_DROP_NOTIFICATION | OPTION_POLICY_VERDICT_NOTIFICATION))
			endpoint_notify(skb, judge, packet, flow, own ? hook : 1 - hook, EVENT_VERDICT, flow->audited,
					POLICY_FLAG_AUDIT);
	} else if (ENDPOINT_OPTION(POLICY_VERDICT_NOTIFICATION) && !renewed &&
		   (!reason || !ENDPOINT_OPTION(DROP_NOTIFICATION))) {
		endpoint_notify(skb, endpoint, packet, flow, hook, EVENT_VERDICT, reason, 0);
	}
}

/* Reports the backend of a new flow to a service, and the source that a new flow to the outside gets. */
static __always_inline void endpoint_tell_translation(const struct endpoint_entry *endpoint,
						      const struct packet *packet, const struct judgement *judgement,
						      enum metrics_direction hook)
{
	if (hook == METRICS_EGRESS && unlikely(judgement->translated || judgement->masquerades))
		translation_tell_opened(packet, judgement, endpoint->endpoint_id);
}

/* A packet that is not from where its source lives belongs to no flow, and leaves no state. */
static __always_inline void packet_set_forged(struct packet *packet)
{
	if (packet->kind == PACKET_FLOW)
		packet->kind = PACKET_STATELESS;
	packet->first_fragment = 0;
}

static __always_inline __u64 endpoint_peer_origin(const struct __sk_buff *skb, const struct judgement *judgement,
						  const struct conntrack_entry *old, enum metrics_direction hook)
{
	const enum conntrack_side side = judgement->source_side & 1;

	if (hook == METRICS_EGRESS)
		return old ? origin_of_peer(old, 1 - side, 0) : ORIGIN_ANY_INTERFACE | ORIGIN_MAY_BE_HOST;
	return old ? origin_of_peer(old, side, receiving_ifindex(skb)) : origin_of_source(receiving_ifindex(skb));
}

/* Returns whether sockets of this node send the packets of the peer, which has an address of this node. */
static __always_inline bool endpoint_peer_is_node(const struct __sk_buff *skb, const struct conntrack_entry *old,
						  __u64 origin, enum metrics_direction hook)
{
	return (old && READ_ONCE(old->flags) & CONNTRACK_PEER_IS_NODE) ||
	       (hook == METRICS_INGRESS && !receiving_ifindex(skb) && origin & ORIGIN_MAY_BE_HOST);
}

/* Evaluates policy for a packet without a valid verdict, and stores the verdict in conntrack. */
static __always_inline int endpoint_ask(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					struct packet *packet, struct judgement *judgement,
					const struct conntrack_entry *old, const struct segment *segment,
					enum metrics_direction hook)
{
	const __u64 origin = endpoint_peer_origin(skb, judgement, old, hook);
	const enum conntrack_side side = judgement->source_side & 1;
	const bool error = packet->kind == PACKET_ICMP_ERROR;
	struct judge_scratch *memory = scratch();
	struct flow *flow = &judgement->flow;
	bool related = false;
	int reason;

	if (!memory)
		return action_drop(DROP_NO_ENDPOINT);
	reason = old ? flow_find_parties(flow, packet, own_side(hook), endpoint->endpoint_id, origin)
		     : judge_parties(packet, judgement, own_side(hook), endpoint->endpoint_id, origin);
	if (reason)
		return endpoint_drop(skb, endpoint, packet, flow, hook, reason);
	if (hook == METRICS_INGRESS && unlikely(flow->forged)) {
		packet_set_forged(packet);
		judgement->initiator = PACKET_SOURCE;
		judgement->nat46 = NAT46_NONE;
		old = NULL;
	}
	if (flow->entry_flags & CONNTRACK_TO_NODE && endpoint_peer_is_node(skb, old, origin, hook))
		flow->entry_flags |= CONNTRACK_PEER_IS_NODE;
	if (old && flow_has_other_parties(flow, old, side)) {
		old = NULL; /* the old initiator is not one of the present sides */
		judgement_begin(judgement, packet);
	}
	flow->entry_flags |= (ENDPOINT_OPTION(CONNTRACK_ACCOUNTING) ? CONNTRACK_COUNTED : 0) |
			     (ENDPOINT_OPTION(TRACE_NOTIFICATION) ? CONNTRACK_BY_STACK : 0) |
			     judgement_translates(judgement) * CONNTRACK_BY_STACK;
	if (!old && packet_is_icmp(packet) && packet->kind == PACKET_FLOW && packet_opens_nothing(packet))
		packet->kind = PACKET_STATELESS;
	if (old) {
		reason = judge_known_flow(packet, judgement, old->flags);
		if (reason && judgement->initiator == PACKET_DESTINATION && !entry_is_masqueraded(old) &&
		    !packet_opens_nothing(packet) &&
		    (packet->protocol != IPPROTO_TCP || tcp_is_opening(packet->tcp_flags))) {
			const __u8 denied_side = flow->denied_side;

			flow->redirect = REDIRECT_NONE;
			if (!flow_ask_policy(flow, packet, PACKET_SOURCE, FLOW_BOTH_SIDES)) {
				reason = DROP_NONE; /* the other side opens a flow of its own */
				old = NULL;
				judgement_begin(judgement, packet);
			}
			flow->denied_side = denied_side;
		}
	} else if (error && endpoint_error_relates(skb, packet, endpoint, hook)) {
		related = true;
	} else {
		reason = redirect_judge_new(packet, flow, hook, judge_new_flow(packet, judgement, hook));
		if (reason && error)
			reason = DROP_ICMP_ERROR_UNTRACKED;
	}
	endpoint_tell_verdict(skb, endpoint, packet, flow, reason, old != NULL, hook);
	if (!reason && unlikely(flow->redirect) && !(old && old->flags & CONNTRACK_PROXIED)) {
		bool begins = !old;

		reason = DROP_NO_PROXY; /* an established connection cannot begin to pass a proxy */
		flow->denied_side = own_side(hook);
		if (old && judgement->initiator == (hook == METRICS_EGRESS ? PACKET_SOURCE : PACKET_DESTINATION) &&
		    redirect_may_begin(packet, old->flags)) {
			judgement->put_flags = BPF_ANY; /* the client's next packet takes the place of the entry */
			begins = true;
		}
		if (begins && hook == METRICS_EGRESS && ENDPOINT_OPTION(CONNTRACK)) {
			reason = redirect_open(skb, packet, judgement);
			forget_range(reason);
			if (!reason) {
				endpoint_trace(skb, endpoint, packet, flow, hook, CONNTRACK_CREATED);
				return endpoint_forward(skb, endpoint, packet->family, hook, 0);
			}
		}
		if (begins)
			return endpoint_drop_by(skb, endpoint, packet, flow, hook, reason, flow->denied_side & 1);
	}
	if (!reason)
		judgement_route(skb, packet, judgement, endpoint, hook | (old ? 0 : ROUTE_OPENS));
	if (old) {
		const __u32 untracked = FLOW_BOTH_SIDES & ~flow_tracked_sides(flow);

		reason = endpoint_renew_flow(skb, packet, judgement, old, reason);
		if (!reason)
			reason = judge_untracked(flow, packet, untracked);
		if (!reason)
			reason = packet_finish_renewed(skb, endpoint, packet, judgement, hook,
						       judgement_peer(judgement, endpoint));
		if (!reason && unlikely(memory->entry.flags & CONNTRACK_PROXIED)) {
			leg_renew(packet, &memory->entry, side); /* the proxy judges by the identities there */
			return endpoint_follow_redirect(skb, endpoint, packet, &memory->entry, segment, judgement->now,
							hook);
		}
	} else if (!reason && packet->kind == PACKET_FLOW && flow_tracked_sides(flow) &&
		   !packet_opens_nothing(packet)) {
		if (hook == METRICS_EGRESS && unlikely(judgement->translated && judgement->masquerades))
			return HAIRPIN_BEGINS;
		reason = flow_open(skb, packet, judgement, hook);
		if (reason)
			return endpoint_drop(skb, endpoint, packet, flow, hook, reason);
		endpoint_tell_translation(endpoint, packet, judgement, hook);
	}
	if (reason)
		return endpoint_drop_by(skb, endpoint, packet, flow, hook, reason, flow->denied_side & 1);
	endpoint_trace(skb, endpoint, packet, flow, hook, CONNTRACK_CREATED);
	if (related && error_translation_fails(skb, endpoint, packet, hook, judgement_peer(judgement, endpoint)))
		return action_drop(DROP_MALFORMED);
	deliver_prepare(skb);
	return endpoint_forward(skb, endpoint, packet->family, hook, judgement_peer(judgement, endpoint));
}

/* Returns whether an endpoint of the entry was removed or changed its address, which endpoint own_id may have now. */
static __always_inline bool entry_lost_endpoint(const struct conntrack_entry *entry, enum conntrack_side own_side,
						__u32 own_id)
{
	return (conntrack_generation(entry) ^ entry->generation) >> GENERATION_OWNER_SHIFT ||
	       conntrack_endpoint(entry, own_side) != own_id;
}

/* Judges a packet after its headers are parsed; returns an action. */
static __always_inline int endpoint_judge(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
					  struct packet *packet, enum metrics_direction hook)
{
	const struct segment segment = packet_segment(packet);
	struct judge_scratch *memory = scratch();
	struct judgement *judgement;
	enum conntrack_side side;
	struct conntrack_entry *entry = NULL;
	struct conntrack_entry *old = NULL;

	if (!memory)
		return action_drop(DROP_NO_ENDPOINT);
	if (hook == METRICS_INGRESS && packet_is_to_translate(skb))
		return ACTION_TRANSLATE;
	judgement = &memory->judgement;
	judgement->now = now_ns();
	judgement->options = endpoint->options;
	judgement->put_flags = BPF_NOEXIST;
	judgement->source_side = packet_source_is_high(packet);
	judgement->initiator = PACKET_SOURCE;
	judgement->asked = POLICY_NOT_ASKED;
	judgement->device = 0;
	judgement->translated = false;
	judgement->masquerades = false;
	judgement->nat46 = hook == METRICS_EGRESS && packet_is_translated(skb) ? NAT46_SOURCE : NAT46_NONE;
	side = judgement->source_side & 1;
	if (packet->kind == PACKET_FLOW && !packet->untracked)
		entry = conntrack_find(packet);
	if (entry && unlikely(entry_is_masquerade(entry))) {
		packet_set_forged(packet); /* it has the address of this node as its source */
		entry = NULL;
	}
	if (entry && hook == METRICS_EGRESS && node_config.enable_nat46 &&
	    unlikely(entry_is_of_other_family(entry, packet, judgement, side)))
		return action_drop(DROP_TUPLE_IN_USE);
	if (entry && unlikely(entry_is_relayed(entry))) {
		if (hook == METRICS_EGRESS) {
			const int action = hairpin_judge(skb, endpoint, packet, entry, &segment, judgement);

			if (action != HAIRPIN_OPENS)
				return action;
			judgement->put_flags = BPF_ANY;
			judgement->overflow = !!(READ_ONCE(entry->flags) & CONNTRACK_OVERFLOW);
			entry = NULL;
		} else if (!rewrite_destination(entry) && !conntrack_is_expired(entry, judgement->now) &&
			   !entry_lost_endpoint(entry, 1 - side, endpoint->endpoint_id)) {
			return action_drop(DROP_TUPLE_IN_USE); /* the answer would go to the workload itself */
		}
	}
	if (hook == METRICS_EGRESS && entry && unlikely(entry_is_masqueraded(entry)) && rewrite_applies(entry, side) &&
	    masquerade_lost_leg(packet, entry))
		WRITE_ONCE(entry->expires_ns, 0); /* the packet opens both again */
	if (entry) {
		const bool known = hook == METRICS_EGRESS ||
				   (origin_is_peer(entry, side, receiving_ifindex(skb)) && !entry_is_frontend(entry));
		const __u32 flags = READ_ONCE(entry->flags);

		judgement->overflow = !!(flags & CONNTRACK_OVERFLOW);
		if (conntrack_is_expired(entry, judgement->now) ||
		    (unlikely(!known) && entry_lost_endpoint(entry, 1 - side, endpoint->endpoint_id))) {
			judgement->put_flags = BPF_ANY;
		} else if (!known) {
			packet_set_forged(packet);
		} else if (conntrack_is_reopened(flags, side, packet->protocol, packet->tcp_flags)) {
			judgement->put_flags = BPF_ANY;
		} else if (unlikely(flags & CONNTRACK_PROXIED) &&
			   (hook == METRICS_INGRESS || !entry_is_proxied(entry))) {
			judgement_follow(judgement, entry, side);
			return endpoint_follow_redirect(skb, endpoint, packet, entry, &segment, judgement->now, hook);
		} else if (endpoint_verdict_holds(skb, endpoint, entry, side, hook, &segment, judgement->now)) {
			if (conntrack_denial_is_others(flags, side, packet->protocol) && !entry_is_masqueraded(entry) &&
			    !packet_opens_nothing(packet))
				judgement->put_flags = BPF_ANY;
			else
				return endpoint_follow_slowly(skb, endpoint, packet, entry, judgement, hook);
		} else {
			old = entry;
			judgement_follow(judgement, entry, side);
			judgement->initiator = conntrack_is_initiator(flags, side) ? PACKET_SOURCE : PACKET_DESTINATION;
		}
	}
	if (hook == METRICS_INGRESS && !old && unlikely(address_is_of_proxy(&packet->source, packet->family))) {
		const int joined = redirect_join(skb, packet, endpoint->endpoint_id, judgement->now);

		if (unlikely(joined != REDIRECT_UNKNOWN))
			return joined ? action_drop(joined & 0xff)
				      : endpoint_forward(skb, endpoint, packet->family, hook, 0);
	}
	if (hook == METRICS_EGRESS && packet->kind == PACKET_FLOW && service_is_asked(endpoint, old)) {
		const int step = service_step(packet, judgement, old, endpoint->endpoint_id);

		if (step & SERVICE_DROPS)
			return action_drop(step & ~SERVICE_DROPS);
		if (service_rewrite_fails(skb, packet, judgement, old, step))
			return action_drop(DROP_MALFORMED);
		if (step == SERVICE_OPENS && old) {
			old = NULL;
			judgement_begin(judgement, packet);
		}
		if (step == SERVICE_OPENS && judgement->translated && packet_turns(packet, endpoint))
			return HAIRPIN_TURNS;
	}
	return endpoint_ask(skb, endpoint, packet, judgement, old, &segment, hook);
}

__global int judge_from_endpoint(struct __sk_buff *skb, struct packet *packet, const struct endpoint_entry *endpoint)
{
	int action;

	if (!packet || !endpoint)
		return action_drop(DROP_NO_ENDPOINT);
	action = endpoint_judge(skb, endpoint, packet, METRICS_EGRESS);
	if (action > HAIRPIN_BEGINS)
		packet_restore(packet);
	return action;
}

__global int judge_to_endpoint(struct __sk_buff *skb, struct packet *packet, const struct endpoint_entry *endpoint)
{
	const struct judge_scratch *memory = scratch();
	int action;

	if (!packet || !endpoint || !memory)
		return action_drop(DROP_NO_ENDPOINT);
	action = endpoint_judge(skb, endpoint, packet, METRICS_INGRESS);
	return action == ACTION_PASS && node_config.enable_nat46 && memory->judgement.nat46 == NAT46_DESTINATION
		       ? ACTION_TRANSLATE
		       : action;
}

#endif
