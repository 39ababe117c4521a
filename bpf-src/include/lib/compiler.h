/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What every file needs of the compiler. */
#ifndef AGENT_LIB_COMPILER_H
#define AGENT_LIB_COMPILER_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * A global function is verified once, for any arguments, not again for each call and state of its caller: that keeps
 * loading short. It checks its pointers for NULL. A local one may return a pointer, and is verified at each call.
 */
#define __global __noinline __attribute__((used))
#define __local static __noinline __attribute__((unused))

/*
 * Before every loop. Kernels before 6.7 refuse a loop that the compiler closes by falling through rather than by a
 * jump ("back-edge from insn"); which one it takes is its own choice, so there is none left.
 */
#define unrolled _Pragma("clang loop unroll(full)")

/*
 * Put behind a call in one of two branches that differ in the map alone. Clang would merge the calls into one with a
 * variable map, which the verifier cannot turn into a direct call of the map's own function, and which kernels before
 * 6.9 refuse for bpf_for_each_map_elem. The number differs at each place, so that these are not merged themselves.
 */
#define keep_call_apart(value) asm volatile("" : "+r"(value) : "i"(__COUNTER__))

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

#define NS_PER_SECOND 1000000000ULL

#endif
