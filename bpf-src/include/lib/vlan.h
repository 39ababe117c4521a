/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* VLAN tags in the frame. IEEE 802.1Q. */
#ifndef AGENT_LIB_VLAN_H
#define AGENT_LIB_VLAN_H

#include <linux/if_ether.h>

#include "lib/compiler.h"

/* The largest number of tags that the programs parse; the stack parses any number. */
#define VLAN_TAGS_MAX 4

struct vlan_tag {
	__be16 control;
	__be16 ethertype;
};

static __always_inline bool vlan_is_tag(__be16 ethertype)
{
	return ethertype == bpf_htons(ETH_P_8021Q) || ethertype == bpf_htons(ETH_P_8021AD);
}

#endif
