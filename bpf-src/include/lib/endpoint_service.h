/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Services for packets: those of a workload that no program has translated at its socket, which are those of raw
 * sockets and of control groups that are not under --cgroup-root, and those from outside. Only the first packet of a
 * flow selects a backend.
 */
#ifndef AGENT_LIB_ENDPOINT_SERVICE_H
#define AGENT_LIB_ENDPOINT_SERVICE_H

#include "lib/masquerade.h"
#include "lib/translation_event.h"

enum service_step {
	SERVICE_NONE = 0,    /* the packet is not translated */
	SERVICE_OPENS = 1,   /* it opens a flow, to a service or, where that has gone, to the address itself */
	SERVICE_KEEPS = 2,   /* its flow keeps its backend */
	SERVICE_DROPS = 256, /* plus the drop reason */
};

static __always_inline void end_of_packet(struct end *end, const struct packet *packet)
{
	if (packet->family == FAMILY_IPV4) {
		end->address[0] = 0;
		end->address[1] = 0;
		end->address[2] = END_MAPPED;
		end->address[3] = packet->destination.v4;
	} else {
		copy_address(end->address, &packet->destination);
	}
	end->port_be = packet->destination_port_be;
}

/* Makes the packet one to the backend, and keeps where it was sent to. */
static __always_inline void packet_translate(struct packet *packet, struct judgement *judgement,
					     const union address *backend, __be16 port_be)
{
	judgement->translated = true;
	judgement->frontend = packet->destination;
	judgement->frontend_port_be = packet->destination_port_be;
	packet->destination = *backend;
	packet->destination_port_be = port_be;
}

/* Makes the packet again the one that was sent. */
static __always_inline void packet_restore(struct packet *packet)
{
	const struct judge_scratch *memory = scratch();

	if (memory && memory->judgement.translated) {
		packet->destination = memory->judgement.frontend;
		packet->destination_port_be = memory->judgement.frontend_port_be;
	}
}

/* Translates a packet as its entry says, in the skb and in what is parsed; returns whether that failed. */
__global int service_follow(struct __sk_buff *skb, struct packet *packet, struct judgement *judgement,
			    const struct conntrack_entry *entry)
{
	union address backend;

	if (!packet || !judgement || !entry)
		return true;
	judgement->service_id = entry->service_id;
	if (packet_rewrite_fails(skb, packet, entry, judgement->source_side & 1))
		return true;
	__builtin_memcpy(&backend, entry->end.address, sizeof(backend));
	packet_translate(packet, judgement, &backend, entry->end.port_be ?: packet->destination_port_be);
	return false;
}

/* Returns whether the backend of an entry still takes the packets of its flow. */
static __always_inline bool service_keeps(const struct conntrack_entry *entry, __u8 family)
{
	struct end backend;
	__u32 state;

	__builtin_memcpy(backend.address, entry->end.address, sizeof(backend.address));
	if (family == FAMILY_IPV4) {
		backend.address[3] = backend.address[0];
		backend.address[2] = END_MAPPED;
		backend.address[1] = 0;
		backend.address[0] = 0;
	}
	state = service_backend_state(entry->service_id, backend.address, entry->end.port_be);
	return state == BACKEND_ACTIVE || state == BACKEND_TERMINATING;
}

/*
 * Selects a backend for a packet to a service that opens a flow; returns an enum service_step. No IPv6 packet to an
 * IPv4-mapped address comes here (packet_is_of_hosts): the frontends of IPv4 have these.
 */
static __always_inline int service_open(struct packet *packet, struct judgement *judgement, __u64 client, __u8 scope)
{
	const struct service_entry *service;
	union address address = {};
	struct end end;
	__u64 hash;

	end_of_packet(&end, packet);
	service = service_of(&end, packet->protocol, scope);
	if (likely(!service))
		return SERVICE_NONE;
	hash = packet_hash(packet);
	if (!service_select(service, client, (__u32)hash, hash >> 32, &end))
		return SERVICE_DROPS | DROP_SERVICE_UNSERVED;
	if (packet->family == FAMILY_IPV4)
		address.v4 = end.address[3];
	else
		copy_address(&address, end.address);
	judgement->service_id = service->service_id;
	judgement->forwarding = service->forwarding;
	packet_translate(packet, judgement, &address, end.port_be);
	return SERVICE_OPENS;
}

/*
 * Reports to a subscriber that the flow of a packet was assigned a backend, or is masqueraded. endpoint_id:
 * whose flow it is, or 0 for that of a client outside.
 */
__global int translation_tell_opened(const struct packet *packet, const struct judgement *judgement, __u32 endpoint_id)
{
	enum translation_place place = endpoint_id ? TRANSLATION_ENDPOINT : TRANSLATION_NETWORK;
	struct translation_event *event;
	__u32 service_id;

	if (!packet || !judgement || !translations_are_wanted())
		return 0;
	service_id = judgement->service_id;
	if (endpoint_id && judgement->masquerades && !judgement->translated) {
		place = TRANSLATION_MASQUERADE;
		service_id = 0;
	}
	event = translation_event_begin(bpf_map_lookup_elem(&endpoint_rates, &endpoint_id), place, service_id,
					packet->protocol);
	if (!event)
		return 0;
	event->family = packet->family;
	event->endpoint_id = endpoint_id;
	event->source_identity = judgement->flow.identity[PACKET_SOURCE];
	event->backend_identity = judgement->flow.identity[PACKET_DESTINATION];
	event->source_port_be = packet->source_port_be;
	event->frontend_port_be = judgement->frontend_port_be;
	event->backend_port_be = packet->destination_port_be;
	copy_address(event->source_address, &packet->source);
	copy_address(event->frontend_address, &judgement->frontend);
	copy_address(event->backend_address, &packet->destination);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/* Rewrites a packet that opens a flow to a service; returns whether that failed. */
__global int service_rewrite(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement)
{
	struct judge_scratch *memory = scratch();

	if (!packet || !judgement || !memory)
		return true;
	judgement->source_side = packet_conntrack_side(packet);
	__builtin_memset(&memory->entry, 0, sizeof(memory->entry));
	entry_set_rewrite(&memory->entry, CONNTRACK_LOW, CONNTRACK_REWRITE_DESTINATION, &judgement->frontend,
			  &packet->destination, packet->destination_port_be);
	return packet_rewrite_fails(skb, packet, &memory->entry, CONNTRACK_LOW);
}

/*
 * Returns an enum service_step for a packet whose flow is to be judged; old: the entry whose verdict is to be renewed,
 * if there is one. A TCP connection to the address itself keeps its peer where the address becomes a service's.
 */
__global int service_step(struct packet *packet, struct judgement *judgement, const struct conntrack_entry *old,
			  __u32 endpoint_id)
{
	if (!packet || !judgement)
		return SERVICE_NONE;

	const bool tcp = packet->protocol == IPPROTO_TCP;
	const bool translated = old && entry_is_frontend(old);
	int step;

	if ((!tcp && packet->protocol != IPPROTO_UDP && packet->protocol != IPPROTO_SCTP) ||
	    (tcp && !translated && (old || packet->tcp_flags & TCP_RST)))
		return SERVICE_NONE;
	if (translated && service_keeps(old, packet->family))
		return SERVICE_KEEPS;
	step = service_open(packet, judgement, SERVICE_CLIENT_ENDPOINT | endpoint_id, SERVICE_INSIDE);
	return translated && step == SERVICE_NONE ? SERVICE_OPENS : step;
}

/* Returns whether services may concern a packet of an endpoint. A flow to a service stays one without its option. */
static __always_inline bool service_is_asked(const struct endpoint_entry *endpoint, const struct conntrack_entry *old)
{
	const __u32 needed = OPTION_SERVICES | OPTION_CONNTRACK;

	return (endpoint->options & needed) == needed || (old && entry_is_frontend(old));
}

/* Rewrites a packet as service_step() has decided; returns whether that failed. */
static __always_inline bool service_rewrite_fails(struct __sk_buff *skb, struct packet *packet,
						  struct judgement *judgement, const struct conntrack_entry *old,
						  int step)
{
	if (step == SERVICE_KEEPS)
		return service_follow(skb, packet, judgement, old);
	return step == SERVICE_OPENS && judgement->translated && service_rewrite(skb, packet, judgement);
}

/*
 * Returns whether the entry may be that of the leg to the backend: it has ended, or is of the same service. Otherwise
 * the client has another connection with this tuple, whose packets the backend could not tell apart.
 */
static __always_inline bool service_may_take(const struct conntrack_entry *entry, const struct judgement *judgement)
{
	return conntrack_is_expired(entry, judgement->now) || entry->flags & CONNTRACK_ENDED ||
	       (entry->flags & CONNTRACK_REWRITTEN && entry->service_id &&
		end_is(&entry->end, &judgement->frontend, judgement->frontend_port_be));
}

/*
 * Prepares that endpoint_open_flow() creates the entry of the leg to the backend; returns a drop reason. What is known
 * of the entry of the client's leg is kept for service_open_frontend().
 */
__global int service_prepare_leg(const struct packet *packet, struct judgement *judgement)
{
	const struct conntrack_entry *taken;

	if (!packet || !judgement)
		return DROP_CONNTRACK_FULL;
	taken = conntrack_find(packet);
	if (taken && !service_may_take(taken, judgement))
		return DROP_TUPLE_IN_USE;
	judgement->frontend_put_flags = judgement->put_flags;
	judgement->frontend_overflow = judgement->overflow;
	judgement->put_flags = taken ? BPF_ANY : BPF_NOEXIST;
	judgement->overflow = taken && taken->flags & CONNTRACK_OVERFLOW;
	return DROP_NONE;
}

/* Creates the entry of the client's leg from that of the other, which was created last; returns a drop reason. */
__global int service_open_frontend(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	enum conntrack_side side;

	if (!packet || !judgement || !memory)
		return DROP_CONNTRACK_FULL;
	frontend_show(&memory->quoted, packet, judgement);
	side = packet_conntrack_side(&memory->quoted) & 1;
	judgement->put_flags = judgement->frontend_put_flags;
	judgement->overflow = judgement->frontend_overflow;
	entry = &memory->entry;
	entry->flags &= ~CONNTRACK_OVERFLOW;
	if (side != (judgement->source_side & 1))
		entry_swap_sides(entry);
	entry_set_rewrite(entry, side, CONNTRACK_REWRITE_DESTINATION, &judgement->frontend, &packet->destination,
			  packet->destination_port_be);
	if (judgement->options & OPTION_CONNTRACK_ACCOUNTING)
		endpoint_count_packet(entry, side, skb->len);
	if (endpoint_flow_overflows(packet, judgement))
		entry->flags |= CONNTRACK_OVERFLOW;
	return leg_open(&memory->quoted, entry);
}

/* Creates the entries of a flow, of one leg or, where its packets are translated, of two; returns a drop reason. */
static __always_inline int flow_open(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement,
				     enum metrics_direction hook)
{
	const bool translated = hook == METRICS_EGRESS && unlikely(judgement->translated);
	int reason = translated ? service_prepare_leg(packet, judgement) : DROP_NONE;

	if (hook == METRICS_EGRESS && judgement->masquerades)
		reason = masquerade_open(skb, packet, judgement);
	if (!reason)
		reason = endpoint_open_flow(skb, packet, judgement);
	if (!reason && translated)
		reason = service_open_frontend(skb, packet, judgement);
	return reason;
}

/* Makes the packet one that opens a flow, which takes the place of another. */
static __always_inline void judgement_begin(struct judgement *judgement, const struct packet *packet)
{
	judgement->put_flags = BPF_ANY;
	judgement->initiator = PACKET_SOURCE;
	judgement->nat46 &= NAT46_SOURCE;
	if (judgement->translated)
		judgement->source_side = packet_conntrack_side(packet);
}

/* Updates the entry of the other leg of a translated flow of a packet; a later fragment has no ports to find it by. */
static __always_inline void packet_tell_other_leg(struct __sk_buff *skb, const struct packet *packet,
						  struct conntrack_entry *entry, enum conntrack_side source_side,
						  const struct segment *segment, __u64 now)
{
	if (unlikely(rewrite_applies(entry, source_side)) && !packet->later_fragment)
		translation_tell(skb, entry, segment, now, packet->l4_offset);
}

/*
 * Copies the verdict that was renewed for the backend's leg to the client's, which the program of the device follows;
 * where that entry is gone, the client's next packet opens both again. The packet is one of the client from outside.
 */
__global int service_renew_frontend(const struct packet *packet, __u32 side)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	const struct conntrack_entry *old;

	if (!packet || !memory)
		return 0;
	entry = &memory->entry;
	leg_show(&memory->quoted, packet, entry, side & 1);
	old = conntrack_find(&memory->quoted);
	if (!old || !entry_is_frontend(old))
		return 0;
	if ((packet_conntrack_side(&memory->quoted) & 1) != (side & 1))
		entry_swap_sides(entry);
	entry->flags = (entry->flags & ~CONNTRACK_LASTING) | (old->flags & CONNTRACK_LASTING);
	conntrack_carry_over(entry, old);
	return leg_open(&memory->quoted, entry);
}

/* Rewrites a packet whose entry was renewed, and tells that of the other leg; returns a drop reason. */
static __always_inline int packet_finish_renewed(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						 const struct packet *packet, struct judgement *judgement,
						 enum metrics_direction hook, __u32 peer_id)
{
	const enum conntrack_side side = judgement->source_side & 1;
	const struct segment segment = packet_segment(packet);
	struct judge_scratch *memory = scratch();

	if (!memory)
		return DROP_NONE;
	if (entry_is_masqueraded(&memory->entry))
		leg_renew(packet, &memory->entry, side);
	else if (hook == METRICS_INGRESS && unlikely(memory->entry.flags & CONNTRACK_REWRITTEN) &&
		 !rewrite_applies(&memory->entry, side) && !judgement->flow.endpoint_id[PACKET_SOURCE] &&
		 !packet->later_fragment)
		service_renew_frontend(packet, side);
	if (!rewrite_applies(&memory->entry, side))
		return DROP_NONE;
	packet_tell_other_leg(skb, packet, &memory->entry, side, &segment, judgement->now);
	return source_rewrite_is_due(skb, endpoint, &memory->entry, side, hook, peer_id) &&
			       packet_rewrite_fails(skb, packet, &memory->entry, side)
		       ? DROP_MALFORMED
		       : DROP_NONE;
}

#endif
