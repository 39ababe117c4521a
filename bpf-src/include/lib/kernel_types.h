/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Members of structs of the kernel that no header of its API has. libbpf finds their places in the BTF of the kernel that
 * runs; what is not named here is not read.
 */
#ifndef AGENT_LIB_KERNEL_TYPES_H
#define AGENT_LIB_KERNEL_TYPES_H

#include <linux/in6.h>

#include "lib/compiler.h"

#define kernel_type __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} kernel_type;

struct net {
	struct ns_common ns;
} kernel_type;

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__u32 skc_daddr;
	__be16 skc_dport;
	unsigned short skc_family;
	unsigned char skc_ipv6only : 1;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
} kernel_type;

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
} kernel_type;

struct socket {
	struct sock *sk;
} kernel_type;

struct file;
struct udp_sock;

struct task_struct {
	int tgid;
} kernel_type;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} kernel_type;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
} kernel_type;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} kernel_type;

struct bpf_iter__udp {
	struct bpf_iter_meta *meta;
	struct udp_sock *udp_sk;
} kernel_type;

#endif
