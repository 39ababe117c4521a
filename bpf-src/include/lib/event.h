/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Emits events to the ring buffer. Events that do not fit, and those of an endpoint that causes too many, are counted
 * and discarded; the packet is not delayed.
 */
#ifndef AGENT_LIB_EVENT_H
#define AGENT_LIB_EVENT_H

#include "lib/event_ring.h"
#include "lib/flow.h"
#include "lib/flow_usage.h"
#include "maps/metrics_map.h"

struct event_spec {
	__u8 type;      /* enum event_type */
	__u8 reason;    /* enum drop_reason */
	__u8 direction; /* enum metrics_direction */
	__u8 policy_flags;
	__u16 endpoint_id;
	__u16 captures; /* whether the first bytes of the packet are wanted */
};

/* Copies the first bytes of the packet behind the event; returns how many. They may be in any part of the buffer. */
static __always_inline __u16 event_capture(struct __sk_buff *skb, struct flow_event *event, __u32 most)
{
	__u32 length = skb->len < most ? skb->len : most;

	return is_within(length, 1, most) && !bpf_skb_load_bytes(skb, 0, event + 1, length) ? length : 0;
}

/* flow is NULL where the identities are not known yet. */
__global int event_emit(struct __sk_buff *skb, const struct packet *packet, const struct flow *flow,
			const struct event_spec *spec)
{
	if (!packet || !spec || event_is_suppressed(spec->endpoint_id))
		return 0;

	/* The kernel takes a constant size: a record with bytes of the packet has room for all that may be wanted. */
	const __u32 room = spec->captures ? node_config.payload_bytes : 0;
	struct flow_event *event = bpf_ringbuf_reserve(&events, sizeof(*event) + room, 0);

	if (!event) {
		event_count_lost();
		return 0;
	}
	event->timestamp_ns = bpf_ktime_get_ns();
	event->type = spec->type;
	event->reason = spec->reason;
	event->direction = spec->direction;
	event->family = packet->family;
	event->protocol = packet->protocol;
	event->tcp_flags = packet->protocol == IPPROTO_TCP ? packet->tcp_flags : 0;
	event->endpoint_id = spec->endpoint_id;
	event->source_identity = flow ? flow->identity[PACKET_SOURCE] : 0;
	event->destination_identity = flow ? flow->identity[PACKET_DESTINATION] : 0;
	event->length = skb->len;
	event->ifindex = skb->ifindex;
	event->source_port_be = packet->source_port_be;
	event->destination_port_be = packet->destination_port_be;
	event->policy_flags = spec->policy_flags;
	event->reserved = 0;
	event->captured_length = event_capture(skb, event, room);
	__builtin_memcpy(event->source_address, &packet->source, sizeof(event->source_address));
	__builtin_memcpy(event->destination_address, &packet->destination, sizeof(event->destination_address));
	bpf_ringbuf_submit(event, 0);
	return 0;
}

#endif
