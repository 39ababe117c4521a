/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The backends that the load balancer of a device has selected for its flows. */
#ifndef AGENT_MAPS_BALANCER_MAP_H
#define AGENT_MAPS_BALANCER_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum balancer_size {
	BALANCER_FLOWS_MAX = 262144,
};

/* IPv4 addresses are IPv4-mapped ones, as in maps/service_map.h. */
struct balancer_flow_key {
	__u8 client[16];
	__u8 frontend[16];
	__be16 client_port_be;
	__be16 frontend_port_be;
	__u8 protocol; /* TCP, UDP or SCTP */
	__u8 reserved[3];
} __attribute__((aligned(4))); /* so that addresses are copied by words */
_Static_assert(sizeof(struct balancer_flow_key) == 40, "balancer_flow_key");

struct balancer_flow {
	__u32 service_id;
	__u8 address[16]; /* of the backend */
	__be16 port_be;
	__u8 by_stack; /* 1: the backend is on this node; 2: conntrack has the flow, which is relayed */
	__u8 reserved;
};
_Static_assert(sizeof(struct balancer_flow) == 24, "balancer_flow");

/* A flow that the kernel has evicted gets the backend that the table of its service has for it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct balancer_flow_key);
	__type(value, struct balancer_flow);
	__uint(max_entries, BALANCER_FLOWS_MAX);
} balancer_flows SEC(".maps");

#endif
