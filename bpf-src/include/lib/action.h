/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Return values of the functions of a program: the action on the packet. */
#ifndef AGENT_LIB_ACTION_H
#define AGENT_LIB_ACTION_H

#include <linux/pkt_cls.h>

#include "lib/compiler.h"
#include "lib/drop_reason.h"

/* The next program on the hook runs, then the stack. */
#define ACTION_PASS TC_ACT_UNSPEC

#define ACTION_DROP 0x100  /* the low byte is the drop reason */
#define ACTION_QUIET 0x200 /* with ACTION_DROP: counted, not notified */
#define ACTION_PEER 0x400  /* with ACTION_DROP: by the endpoint on the other side, and counted there */

/* In the place of a drop: another program translates the packet to the other family (lib/nat46.h). */
#define ACTION_TRANSLATE 0x800

static __always_inline int action_drop(enum drop_reason reason)
{
	return ACTION_DROP | reason;
}

static __always_inline int action_drop_quietly(enum drop_reason reason)
{
	return ACTION_DROP | ACTION_QUIET | reason;
}

/* Also for what another program has to translate, so that a packet of the fast path is asked one question. */
static __always_inline bool action_is_drop(int action)
{
	return action >= ACTION_DROP;
}

/* Returns whether the packet goes on, as it is or translated. */
static __always_inline bool action_is_forward(int action)
{
	return !action_is_drop(action) || action == ACTION_TRANSLATE;
}

static __always_inline bool action_is_quiet(int action)
{
	return action & ACTION_QUIET;
}

static __always_inline bool action_is_peers(int action)
{
	return action & ACTION_PEER;
}

static __always_inline enum drop_reason action_reason(int action)
{
	return action & 0xff;
}

#endif
