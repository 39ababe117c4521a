/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Load-time constants of the load balancer, in .rodata. */
#ifndef AGENT_CONFIG_BALANCER_CONFIG_H
#define AGENT_CONFIG_BALANCER_CONFIG_H

#include <linux/types.h>

/* The addresses are the outer sources of what it encapsulates; a family without one is left to the stack. */
struct balancer_config {
	__u8 mac[6]; /* of the device; frames to others are left to the stack */
	__u8 enable_ipv4;
	__u8 enable_ipv6;
	__u8 source4[4];
	__u8 source6[16];
} __attribute__((aligned(4))); /* so that addresses are loaded by words */
_Static_assert(sizeof(struct balancer_config) == 28, "balancer_config");

const volatile struct balancer_config balancer_config;

#endif
