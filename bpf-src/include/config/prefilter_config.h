/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Load-time constants of the prefilter, in .rodata. */
#ifndef AGENT_CONFIG_PREFILTER_CONFIG_H
#define AGENT_CONFIG_PREFILTER_CONFIG_H

#include <linux/types.h>

struct prefilter_config {
	__u8 enable_ipv4;
	__u8 enable_ipv6;
	__u8 reserved[2];
};
_Static_assert(sizeof(struct prefilter_config) == 4, "prefilter_config");

const volatile struct prefilter_config prefilter_config;

#endif
