/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * NAT46: what a workload sends to an IPv6 address in the range of --nat46-range becomes an IPv4 packet from its own IPv4
 * address to the embedded one (RFC 6052, section 2.2), and begins in from_endpoint again, which treats it as any other.
 * The entries of such a flow say which side is translated (enum conntrack_flag). Its packets pass the stack to
 * to_endpoint, where those to that side become IPv6 packets. lib/nat46_translation.h has both translations (RFC 7915).
 *
 * The programs that translate are reached by tail calls, so that the others need neither their stack nor their
 * instructions. Two marks tell them apart from other packets: one in the control block, which lasts for one run, on a
 * packet that was translated; one in tc_index on a packet that a program has judged and delivers to a translated side.
 * With the latter goes one in skb->mark: tc_index passes from one network namespace to another, so that a container whose
 * interface has no program could write it; the mark does not pass.
 */
#ifndef AGENT_LIB_NAT46_H
#define AGENT_LIB_NAT46_H

#include "config/node_config.h"
#include "lib/action.h"
#include "lib/packet.h"
#include "maps/conntrack_map.h"

/* Which side of a packet is translated, in struct judgement. */
enum nat46_side {
	NAT46_NONE = 0,
	NAT46_SOURCE = 1,
	NAT46_DESTINATION = 2,
};

/* The programs that are called from others. */
enum nat46_program {
	NAT46_PROGRAM_FROM = 0,  /* translates what a workload sends */
	NAT46_PROGRAM_ENTER = 1, /* from_endpoint, for what was translated */
	NAT46_PROGRAM_TO = 2,    /* translates what a workload gets */
	NAT46_PROGRAMS = 3,
};

#define CONNTRACK_NAT46 (CONNTRACK_NAT46_LOW | CONNTRACK_NAT46_HIGH)

/* 64 bits that what the stack leaves in the control block does not have by chance. */
#define NAT46_MARK_FIRST 0x9d4e62c7
#define NAT46_MARK_SECOND 0x3b81f05a

/* In tc_index, as PACKET_COMPLETE. */
#define PACKET_TO_TRANSLATE 0x46d1
#define PACKET_FIRST_PIECE 0x46d3 /* the same, of what is split (lib/nat46_fragment.h) */
#define PACKET_MARK_JUDGED 0x46d1b7e5

/* Returns whether the address is in the range. */
static __always_inline bool nat46_takes(const union address *destination)
{
	const volatile __u32 *range = (const volatile __u32 *)node_config.nat46_range;

	return node_config.enable_nat46 && !((destination->words[0] ^ range[0]) | (destination->words[1] ^ range[1]) |
					     (destination->words[2] ^ range[2]));
}

/* Says that the packet was one to the range. */
static __always_inline void packet_set_translated(struct __sk_buff *skb)
{
	skb->cb[3] = NAT46_MARK_FIRST;
	skb->cb[4] = NAT46_MARK_SECOND;
}

static __always_inline bool packet_is_translated(const struct __sk_buff *skb)
{
	return node_config.enable_nat46 && !((skb->cb[3] ^ NAT46_MARK_FIRST) | (skb->cb[4] ^ NAT46_MARK_SECOND));
}

/* Returns the flag of a side; without a branch. */
static __always_inline __u32 nat46_flag(enum conntrack_side side)
{
	return CONNTRACK_NAT46_LOW << side;
}

/* Returns 1 where the entry is of a flow of which this side is translated, else 0; without a branch. */
static __always_inline __u32 entry_translates(const struct conntrack_entry *entry, enum conntrack_side side)
{
	_Static_assert(CONNTRACK_NAT46_LOW == 1 << 20 && CONNTRACK_NAT46_HIGH == 1 << 21, "the shift of the flags");

	return node_config.enable_nat46 ? entry->flags >> (20 + side) & 1 : 0;
}

/* Marks a packet for translation by to_endpoint that goes to the workload of an interface. */
static __always_inline int deliver_to_translation(struct __sk_buff *skb, __u32 ifindex)
{
	skb->tc_index = PACKET_TO_TRANSLATE;
	skb->mark = PACKET_MARK_JUDGED;
	return (int)bpf_redirect(ifindex, 0);
}

static __always_inline bool packet_is_to_translate(const struct __sk_buff *skb)
{
	const __u32 kinds = PACKET_TO_TRANSLATE ^ PACKET_FIRST_PIECE;

	return node_config.enable_nat46 && !(((skb->tc_index ^ PACKET_TO_TRANSLATE) & ~kinds) |
					     (skb->mark ^ PACKET_MARK_JUDGED)); /* without a branch */
}

static __always_inline bool packet_is_first_piece(const struct __sk_buff *skb)
{
	return skb->tc_index == PACKET_FIRST_PIECE && skb->mark == PACKET_MARK_JUDGED;
}

#endif
