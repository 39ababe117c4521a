/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The checksum of the Internet: RFC 1071, and its changes by RFC 1624. */
#ifndef AGENT_LIB_CHECKSUM_H
#define AGENT_LIB_CHECKSUM_H

#include <linux/ip.h>

#include "lib/compiler.h"

/* Returns the one's complement sum of 16-bit words whose carries are still in the upper half. */
static __always_inline __u16 words_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)((sum & 0xffff) + (sum >> 16));
}

/* Returns the sum of the words of some memory, which is not folded. */
static __always_inline __u64 words_sum(const void *words, __u32 bytes)
{
	return (__u32)bpf_csum_diff(NULL, 0, (__be32 *)words, bytes, 0);
}

/* Returns the checksum of words, of which sum adds a few sums of the kernel. */
static __always_inline __u16 checksum_finish(__u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16) ~((sum & 0xffff) + (sum >> 16));
}

/* Returns a checksum whose words have gained so much in one's complement (RFC 1624, equation 3). */
static __always_inline __u16 checksum_after(__u16 checksum, __u32 gained)
{
	return (__u16)~words_fold((__u16)~checksum + gained);
}

/* The same for a gain of one word, of which the sum has one carry at most. */
static __always_inline __u16 checksum_after_word(__u16 checksum, __u16 gained)
{
	const __u32 sum = (__u16)~checksum + (__u32)gained;

	return (__u16) ~(sum + (sum >> 16));
}

/* Returns the checksum of a header of which a word has become less by this much. */
static __always_inline __u16 checksum_add(__u16 checksum, __u16 less)
{
	const __u32 sum = (__u32)checksum + less;

	return (__u16)(sum + (sum >= 0xffff));
}

/* Returns the checksum of a header without options: 0 where the one in it is right. */
static __always_inline __u16 ipv4_header_checksum(const struct iphdr *ip)
{
	const __u32 *words = (const __u32 *)ip;
	__u64 sum = 0;

	unrolled
	for (int i = 0; i < 5; i++)
		sum += words[i];
	return checksum_finish(sum);
}

#endif
