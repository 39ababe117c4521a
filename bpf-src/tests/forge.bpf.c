// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Programs of tests that send a packet by its device as a container of the node may, whose interface has no program. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "lib/nat46.h"

char _license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int forge(struct __sk_buff *skb, __u32 tc_index)
{
	skb->tc_index = tc_index;
	bpf_clone_redirect(skb, skb->ifindex, 0);
	return TC_ACT_SHOT;
}

SEC("tc")
int forge_to_translate(struct __sk_buff *skb)
{
	return forge(skb, PACKET_TO_TRANSLATE);
}

SEC("tc")
int forge_first_piece(struct __sk_buff *skb)
{
	return forge(skb, PACKET_FIRST_PIECE);
}

/* As a program delivers a packet that it has judged. */
SEC("tc")
int deliver_judged(struct __sk_buff *skb)
{
	deliver_to_translation(skb, skb->ifindex);
	bpf_clone_redirect(skb, skb->ifindex, 0);
	return TC_ACT_SHOT;
}
