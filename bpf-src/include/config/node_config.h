/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Load-time constants of the node, in .rodata: the verifier removes branches of disabled features. */
#ifndef AGENT_CONFIG_NODE_CONFIG_H
#define AGENT_CONFIG_NODE_CONFIG_H

#include <linux/types.h>

struct node_config {
	__u64 tcp_syn_lifetime_ns;
	__u64 tcp_established_lifetime_ns;
	__u64 tcp_closing_lifetime_ns;
	__u64 any_lifetime_ns; /* UDP, ICMP and other protocols */
	__u32 world_identity4; /* of IPv4 addresses that no ipcache prefix covers */
	__u32 world_identity6;
	__u8 gateway4[4]; /* the workloads' gateway, an address of this node */
	__u8 gateway6[16];
	__u8 node4[4]; /* the node's own address, which workloads may use as their gateway; or the gateway again */
	__u8 node6[16];
	__u8 enable_ipv4;
	__u8 enable_ipv6;
	__u16 fragments_per_second; /* first fragments of one endpoint in the tables that all share */
	__u32 tcp_capacity;         /* entries of a table of TCP that can be in use before the kernel evicts one */
	__u32 any_capacity;
	__u32 flow_share_percent; /* an endpoint may have this part of the free entries of a table */
	__u32 events_per_second;  /* of one endpoint; 0: no limit */
	__u16 payload_bytes;      /* first bytes of a packet in an event, where a subscriber wants them */
	__u8 native4_length;      /* bits and 1; packets to this prefix are not masqueraded */
	__u8 native6_length;
	__u8 native4[4];
	__u8 native6[16];
	__u8 nat46_range[16]; /* IPv6 packets to addresses with its first 96 bits become IPv4 packets */
	__u16 socket_port_first; /* the kernel takes ports for sockets of this node from here; masqueraded flows get others */
	__u16 socket_ports; /* the number of them; 0: masqueraded flows may get any */
	__u8 enable_nat46;
	__u8 port_shares; /* an endpoint may get one of so many ports of those that masqueraded flows get; 0: any */
	__u8 reserved[6];
	__u64 flows_lost_until_ns; /* entries of TCP may be missing until then, since tables were carried over */
};
_Static_assert(sizeof(struct node_config) == 160, "node_config");

const volatile struct node_config node_config;

#endif
