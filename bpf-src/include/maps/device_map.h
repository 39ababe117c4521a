/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The devices of the network by which flows may bypass the stack, and the addresses that their flows get there. */
#ifndef AGENT_MAPS_DEVICE_MAP_H
#define AGENT_MAPS_DEVICE_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum device_size {
	DEVICES_MAX = 1024,
	DEVICE_GUARDED = 1, /* the state of each entry */
};

/* An address that is zero: flows of its family keep the address of their endpoint. */
struct device_entry {
	__u32 state; /* DEVICE_GUARDED */
	__u8 ipv4[4];
	__u8 ipv6[16];
};
_Static_assert(sizeof(struct device_entry) == 24, "device_entry");

/*
 * The interface index of each device with from_network on it, by which the answers of a flow come in: what leaves
 * by another device is forwarded by the stack in both directions. The agent adds a device after it has attached the
 * program, and removes it before it detaches it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct device_entry);
	__uint(max_entries, DEVICES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} devices SEC(".maps");

#endif
