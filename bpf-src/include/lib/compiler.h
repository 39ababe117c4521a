/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Macros and attributes for all programs. */
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
 * The verifier verifies a global function once for any arguments, and not again for each call, which shortens the load
 * time. A global function must check its pointer arguments for NULL. A local function is verified at each call and may
 * return a pointer.
 */
#define __global __noinline __attribute__((used))
#define __local static __noinline __attribute__((unused))

/*
 * Required before every loop. Kernels before 6.7 reject a loop whose back edge is a fall-through rather than a jump
 * ("back-edge from insn"). The compiler chooses the form, so all loops are unrolled.
 */
#define unrolled _Pragma("clang loop unroll(full)")

/*
 * Use after a call in one of two branches that differ only in the map. Clang would merge both calls into one with a
 * variable map, which the verifier cannot inline as a direct call of the map's function, and which kernels before 6.9
 * reject for bpf_for_each_map_elem. The counter makes each asm statement unique, so that these are not merged either.
 */
#define keep_call_apart(value) asm volatile("" : "+r"(value) : "i"(__COUNTER__))

/*
 * Use after a call of a global function, before its result is checked. Clang knows what the function can return, and
 * would remove the check; the verifier does not know.
 */
#define forget_range(value) asm volatile("" : "+r"(value))

/*
 * Returns whether a length is in a range, so that each kernel's verifier learns both ends. Clang folds two comparisons
 * into one of a difference, in another register, from which kernels before 6.18 learn nothing of the length, and a
 * comparison with 1 into one with 0, from which 6.1 learns no lower end: the barriers keep both.
 */
#define is_within(length, least, most)           \
	({                                       \
		typeof(length) least_ = (least); \
		bool within_ = false;            \
                                                 \
		forget_range(least_);            \
		if ((length) >= least_) {        \
			forget_range(length);    \
			if ((length) <= (most))  \
				within_ = true;  \
		}                                \
		within_;                         \
	})

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

#define NS_PER_SECOND 1000000000ULL

#endif
