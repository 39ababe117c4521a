/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Later fragments that come before their first one, without which their ports are not known (RFC 791 and RFC 8200 promise
 * no order). A copy of the frame waits for EARLY_FRAGMENT_WAIT_NS. Where the first one passes, a clone of it is sent to
 * the same program, and becomes one by one the frames that waited, which begin the program again: each is judged as if
 * it had come after the first one.
 *
 * An interface has the last EARLY_FRAGMENTS_OF_OWNER of its own in each direction; it replaces none of another one.
 */
#ifndef AGENT_LIB_EARLY_FRAGMENT_H
#define AGENT_LIB_EARLY_FRAGMENT_H

#include "lib/clock.h"
#include "lib/completion.h"
#include "lib/early_state.h"
#include "lib/fragment.h"
#include "lib/origin.h"

#define EARLY_FRAGMENT_TRIES 8

/* In tc_index, as PACKET_COMPLETE: the packet becomes what waits. */
#define PACKET_CARRIER 0xe1f1

/* Of an owner: what the interface is to send. */
#define EARLY_OWNER_TO (1U << 31)

enum early_result {
	EARLY_REFUSED = 0,
	EARLY_WAITING = 1,
	EARLY_BEGINS_AGAIN = 2,
};

/*
 * Clears what the packet has from before; returns whether it is a carrier. Called first for what a workload sends: it can
 * have nothing but its own fragments begin again.
 */
static __always_inline bool packet_begin(struct __sk_buff *skb)
{
	if (likely(!skb->tc_index))
		return false;
	if (skb->tc_index == PACKET_CARRIER)
		return true;
	packet_set_incomplete(skb);
	return false;
}

static __always_inline __u32 early_owner_of(const struct __sk_buff *skb, enum metrics_direction hook)
{
	return skb->ifindex | (hook == METRICS_INGRESS ? EARLY_OWNER_TO : 0);
}

static __always_inline long packet_begin_again(struct __sk_buff *skb, __u32 mark, __u32 owner)
{
	skb->tc_index = mark;
	return bpf_clone_redirect(skb, skb->ifindex, owner & EARLY_OWNER_TO ? 0 : BPF_F_INGRESS);
}

/* Claims a free or expired one; returns whether it did. */
static __always_inline bool early_take_free(struct early_fragment *fragment, __u64 now)
{
	if (early_take(fragment, EARLY_FREE))
		return true;
	if (!early_is_over(fragment, now) || !early_take(fragment, EARLY_WAITS))
		return false;
	early_count(fragment);
	return true;
}

static __always_inline bool early_is_own(const struct early_fragment *fragment, __u32 owner, __u32 place)
{
	return READ_ONCE(fragment->owner) == owner && READ_ONCE(fragment->place) == place;
}

/* Claims that which the owner has had in this place of its ring, where it is the owner's still; returns whether it did. */
static __always_inline bool early_take_own(struct early_fragment *fragment, __u32 owner, __u32 place)
{
	if (!early_is_own(fragment, owner, place) || !early_take(fragment, EARLY_WAITS))
		return false;
	if (!early_is_own(fragment, owner, place)) {
		early_give(fragment, EARLY_WAITS);
		return false;
	}
	early_count(fragment);
	return true;
}

/* Claims a fragment for one more of an owner, the one of its ring where it can; returns its number, or 0. */
__global int early_claim(__u32 number, __u32 owner, __u32 place, __u64 now)
{
	__u32 index = number - 1;
	struct early_fragment *fragment = bpf_map_lookup_elem(&early_fragments, &index);
	const __u32 begin = bpf_get_prandom_u32();

	if (fragment && early_take_own(fragment, owner, place))
		return (int)number;
	unrolled
	for (__u32 i = 0; i < EARLY_FRAGMENT_TRIES; i++) {
		index = (begin + i) % EARLY_FRAGMENTS;
		fragment = bpf_map_lookup_elem(&early_fragments, &index);
		if (fragment && early_take_free(fragment, now))
			return (int)index + 1;
	}
	return 0;
}

/* Stores a frame in a fragment that the caller owns; returns whether it does. */
static __always_inline bool early_fill(struct __sk_buff *skb, const struct packet *packet,
				       struct early_fragment *fragment, enum metrics_direction hook, __u32 place,
				       __u64 now)
{
	__u32 length = skb->len;
	bool filled = false;

	fragment->owner = early_owner_of(skb, hook);
	fragment->since_ns = now;
	fragment_datagram_of(packet, &packet->source, packet->fragment_id_be, &fragment->datagram);
	fragment->received_by = receiving_ifindex(skb);
	fragment->length = length;
	fragment->direction = hook;
	fragment->copied = hook == METRICS_NETWORK;
	fragment->place = place;
	if (is_within(length, ETH_HLEN, EARLY_FRAGMENT_BYTES))
		filled = !bpf_skb_load_bytes(skb, 0, fragment->frame, length);
	early_give(fragment, filled ? EARLY_WAITS : EARLY_FREE);
	return filled;
}

__global int early_add_owner(__u32 owner)
{
	struct early_owner fresh = {};

	return (int)bpf_map_update_elem(&early_owners, &owner, &fresh, BPF_NOEXIST);
}

/*
 * Stores a later fragment whose first one is not known; returns an enum early_result. EARLY_BEGINS_AGAIN: the first
 * one has come in between.
 */
__global int early_fragment_wait(struct __sk_buff *skb, const struct packet *packet, __u32 hook)
{
	const __u64 now = now_ns();
	struct early_fragment *fragment;
	struct early_owner *own;
	__u32 owner, place, number, index;

	if (!skb || !packet || skb->len > EARLY_FRAGMENT_BYTES || !protocol_has_ports(packet))
		return EARLY_REFUSED;
	owner = early_owner_of(skb, hook);
	own = bpf_map_lookup_elem(&early_owners, &owner);
	if (!own) {
		early_add_owner(owner);
		own = bpf_map_lookup_elem(&early_owners, &owner);
		if (!own)
			return EARLY_REFUSED;
	}
	place = __sync_fetch_and_add(&own->next, 1) & (EARLY_FRAGMENTS_OF_OWNER - 1);
	number = early_claim(own->number[place], owner, place, now);
	index = number - 1;
	fragment = bpf_map_lookup_elem(&early_fragments, &index);
	if (!fragment || !early_fill(skb, packet, fragment, hook, place, now))
		return EARLY_REFUSED;
	own->number[place] = number;
	WRITE_ONCE(own->last_ns, now);
	if (likely(!fragment_find(packet)))
		return EARLY_WAITING;
	if (!early_take(fragment, EARLY_WAITS))
		return EARLY_BEGINS_AGAIN; /* after its first one, which another CPU has judged */
	early_give(fragment, EARLY_FREE);
	return packet_begin_again(skb, 0, owner) ? EARLY_REFUSED : EARLY_BEGINS_AGAIN;
}

/* What the steps of a search and of a release have in common. */
struct early_release {
	struct __sk_buff *skb;
	const struct early_owner *own;
	__u64 now;
	__u32 owner;
	__u32 place; /* the oldest in the ring */
	__u32 received_by;
	__u32 found;
	struct fragment6_key datagram; /* of a search */
};

static __always_inline bool early_release_of(struct __sk_buff *skb, __u32 hook, struct early_release *release)
{
	release->owner = early_owner_of(skb, hook);
	release->own = bpf_map_lookup_elem(&early_owners, &release->owner);
	release->now = now_ns();
	if (likely(!release->own) || release->now > READ_ONCE(release->own->last_ns) + EARLY_FRAGMENT_WAIT_NS)
		return false;
	release->skb = skb;
	release->place = READ_ONCE(release->own->next);
	release->received_by = receiving_ifindex(skb);
	release->found = false;
	return true;
}

static __always_inline struct early_fragment *early_at(const struct early_release *release, __u64 step)
{
	const __u32 place = (release->place + (__u32)step) & (EARLY_FRAGMENTS_OF_OWNER - 1);
	const __u32 index = release->own->number[place] - 1U; /* no place of the map where there is none */

	return bpf_map_lookup_elem(&early_fragments, &index);
}

static __always_inline bool early_is_of(const struct early_fragment *fragment, const struct early_release *release)
{
	return fragment->owner == release->owner && fragment->received_by == release->received_by &&
	       !early_is_over(fragment, release->now);
}

static long early_find_step(__u64 step, struct early_release *release)
{
	const struct early_fragment *fragment = early_at(release, step);

	release->found = fragment && READ_ONCE(fragment->state) == EARLY_WAITS && early_is_of(fragment, release) &&
			 !__builtin_memcmp(&fragment->datagram, &release->datagram, sizeof(release->datagram));
	return release->found;
}

/* Sends what waits for a first fragment that passes after it. Called after fragment_remember(). */
__global int early_fragment_call(struct __sk_buff *skb, const struct packet *first, __u32 hook)
{
	struct early_release release;
	__u32 own;

	if (!skb || !first)
		return 0;
	if (likely(!early_release_of(skb, hook, &release)))
		return 0;
	fragment_datagram_of(first, &first->source, first->fragment_id_be, &release.datagram);
	bpf_loop(EARLY_FRAGMENTS_OF_OWNER, early_find_step, &release, 0);
	if (!release.found)
		return 0;
	own = skb->tc_index;
	packet_begin_again(skb, PACKET_CARRIER, release.owner);
	skb->tc_index = own;
	return 0;
}

/* Returns whether the first fragment of a datagram that waits is known now, which is of the family of the carrier. */
static __always_inline bool early_is_known(const struct early_fragment *fragment, const struct __sk_buff *skb)
{
	struct packet packet;

	packet.family = fragment->datagram.reserved[0];
	if (skb->protocol != (packet.family == FAMILY_IPV4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6)))
		return false;
	__builtin_memcpy(&packet.source, fragment->datagram.source_address, sizeof(packet.source));
	__builtin_memcpy(&packet.destination, fragment->datagram.destination_address, sizeof(packet.destination));
	packet.fragment_id_be = fragment->datagram.id_be;
	packet.protocol = fragment->datagram.protocol;
	return fragment_find(&packet);
}

/* Turns the carrier into a stored frame, and restarts it as that. */
static long early_release_step(__u64 step, struct early_release *release)
{
	struct early_fragment *fragment = early_at(release, step);
	struct __sk_buff *skb = release->skb;
	__u32 length;

	if (!fragment || READ_ONCE(fragment->owner) != release->owner || !early_take(fragment, EARLY_WAITS))
		return 0;
	if (!early_is_of(fragment, release) || !early_is_known(fragment, skb)) {
		early_give(fragment, EARLY_WAITS);
		return 0;
	}
	length = fragment->length;
	if (is_within(length, ETH_HLEN, EARLY_FRAGMENT_BYTES) && !bpf_skb_change_tail(skb, length, 0) &&
	    !bpf_skb_store_bytes(skb, 0, fragment->frame, length, BPF_F_RECOMPUTE_CSUM))
		packet_begin_again(skb, 0, release->owner);
	early_give(fragment, EARLY_FREE);
	return 0;
}

/* Turns a carrier into the fragments that wait for first fragments that are known now. The carrier itself goes no further. */
__global int early_fragment_release(struct __sk_buff *skb, __u32 hook)
{
	struct early_release release;

	if (skb && early_release_of(skb, hook, &release))
		bpf_loop(EARLY_FRAGMENTS_OF_OWNER, early_release_step, &release, 0);
	return TC_ACT_SHOT;
}

/* Stores the ports of a first fragment that passes a device, as fragment_remember(), for those too that wait. */
static __always_inline void network_remember(struct __sk_buff *skb, const struct packet *packet, __u32 endpoint_id)
{
	fragment_remember(packet, endpoint_id);
	early_fragment_call(skb, packet, METRICS_NETWORK);
}

#endif
