// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Drops all packets of a new endpoint until its own programs are loaded and replace these. */
#include "lib/compiler.h"
#include "lib/metrics.h"

#include <linux/pkt_cls.h>

char _license[] SEC("license") = "Dual BSD/GPL";

SEC("tc")
int closed_from_endpoint(struct __sk_buff *skb)
{
	metrics_count(METRICS_EGRESS, DROP_NO_ENDPOINT, skb->len);
	return TC_ACT_SHOT;
}

SEC("tc")
int closed_to_endpoint(struct __sk_buff *skb)
{
	metrics_count(METRICS_INGRESS, DROP_NO_ENDPOINT, skb->len);
	return TC_ACT_SHOT;
}
