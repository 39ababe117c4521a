/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Load-time constants of one endpoint, in .rodata. */
#ifndef AGENT_CONFIG_ENDPOINT_CONFIG_H
#define AGENT_CONFIG_ENDPOINT_CONFIG_H

#include <linux/types.h>

/* The options of PATCH /endpoint/{id}/config (decisions.md, section 6). */
enum endpoint_option {
	OPTION_CONNTRACK = 1,
	OPTION_CONNTRACK_ACCOUNTING = 2,
	OPTION_DROP_NOTIFICATION = 4,
	OPTION_TRACE_NOTIFICATION = 8,
	OPTION_POLICY_VERDICT_NOTIFICATION = 16,
	OPTION_POLICY_AUDIT_MODE = 32,
	OPTION_SOURCE_IP_VERIFICATION = 64,
	OPTION_DEBUG = 128,
	OPTION_ARP_PASSTHROUGH = 256,
};

/* MonitorAggregationLevel: which forwarded packets are traced. */
enum aggregation_level {
	AGGREGATION_NONE = 0,    /* every packet */
	AGGREGATION_LOW = 1,     /* new flows, TCP state changes, and about one packet per second and flow */
	AGGREGATION_MEDIUM = 2,  /* new flows and TCP state changes */
	AGGREGATION_MAXIMUM = 3, /* new flows */
};

struct endpoint_config {
	__u32 endpoint_id;
	__u32 ifindex; /* of the host-side veth interface */
	__u32 options; /* enum endpoint_option */
	__u8 has_ipv4;
	__u8 has_ipv6;
	__u8 aggregation; /* enum aggregation_level */
	__u8 reserved;
	__u8 ipv4[4];
	__u8 ipv6[16];
	__u8 mac[6]; /* of the workload's interface */
	__u8 host_mac[6];
};
_Static_assert(sizeof(struct endpoint_config) == 48, "endpoint_config");

const volatile struct endpoint_config endpoint_config;

#endif
