/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Events of drops, policy verdicts, traces and translations, in a ring buffer that the agent reads. While a subscriber
 * wants them, the first bytes of the packet follow a flow_event in its record, from the Ethernet header on.
 */
#ifndef AGENT_MAPS_EVENT_MAP_H
#define AGENT_MAPS_EVENT_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define EVENT_RING_BYTES (1 << 20)

enum event_type {
	EVENT_DROP = 1,
	EVENT_VERDICT = 2,     /* a policy verdict on a new flow */
	EVENT_TRACE = 3,       /* a forwarded packet, with TraceNotification */
	EVENT_TRANSLATION = 4, /* a translation_event */
};

/* Whose flow was given another address. */
enum translation_place {
	TRANSLATION_SOCKET = 1,     /* a backend: of a socket, before there is a packet */
	TRANSLATION_ENDPOINT = 2,   /* a backend: of an endpoint, by its first packet */
	TRANSLATION_NETWORK = 3,    /* a backend: of a client outside, by its first packet */
	TRANSLATION_MASQUERADE = 4, /* an address of this node as its source: of an endpoint, by its first packet */
};

struct flow_event {
	__u64 timestamp_ns; /* CLOCK_MONOTONIC */
	__u8 type;          /* enum event_type */
	__u8 reason;        /* enum drop_reason; 0 for an allowed verdict or a trace */
	__u8 direction;     /* enum metrics_direction */
	__u8 family;        /* 4 or 6 */
	__u8 protocol;
	__u8 tcp_flags;
	__u16 endpoint_id; /* endpoint of the program; 0 for the host program */
	__u32 source_identity;
	__u32 destination_identity;
	__u32 length; /* of the packet, in bytes */
	__u32 ifindex;
	__be16 source_port_be;
	__be16 destination_port_be;
	__u8 policy_flags; /* enum policy_flag: AUDIT where audit mode forwarded a denied packet */
	__u8 reserved;
	__u16 captured_length;   /* bytes of the packet that follow the event */
	__u8 source_address[16]; /* an IPv4 address is in the first four bytes */
	__u8 destination_address[16];
};
_Static_assert(sizeof(struct flow_event) == 72, "flow_event");

/*
 * A flow, or a peer of a socket, that was given a backend; or a flow that is masqueraded, whose frontend here is what the
 * outside sees as its source, and whose backend is its destination. Its first members are those of a flow_event.
 */
struct translation_event {
	__u64 timestamp_ns; /* CLOCK_MONOTONIC */
	__u8 type;          /* EVENT_TRANSLATION */
	__u8 place;         /* enum translation_place */
	__u8 family;        /* of all three addresses: 4 or 6 */
	__u8 protocol;
	__u16 endpoint_id; /* whose flow it is; 0: a socket's, or that of a client outside */
	__u8 reserved[2];
	__u32 service_id;       /* 0: masqueraded */
	__u32 source_identity;  /* 0: a socket's */
	__u32 backend_identity; /* 0: a socket's */
	__be16 source_port_be;  /* 0: a socket's */
	__be16 frontend_port_be;
	__be16 backend_port_be;
	__u8 reserved2[6];
	__u64 namespace_cookie;  /* network namespace of a socket (SO_NETNS_COOKIE); 0: no socket's */
	__u8 source_address[16]; /* zeros: a socket's; an IPv4 address is in the first four bytes of each */
	__u8 frontend_address[16];
	__u8 backend_address[16];
};
_Static_assert(sizeof(struct translation_event) == 96, "translation_event");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENT_RING_BYTES);
} events SEC(".maps");

/* What the programs emit beside what the options of an endpoint say: bits, at index 0. */
enum event_gate {
	EVENT_GATE_TRANSLATIONS = 1,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} event_gate SEC(".maps");

/* Number of events that were lost because the ring buffer was full, per CPU, at index 0. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} events_lost SEC(".maps");

#endif
