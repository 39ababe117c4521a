/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Updates the conntrack entries of masqueraded flows (lib/masquerade.h). */
#ifndef AGENT_LIB_MASQUERADE_ENTRY_H
#define AGENT_LIB_MASQUERADE_ENTRY_H

#include "lib/compiler.h"
#include "maps/conntrack_map.h"

/* Returns whether the entry is one of the two of a masqueraded flow (lib/masquerade.h). */
static __always_inline bool entry_is_masqueraded(const struct conntrack_entry *entry)
{
	return entry->flags & CONNTRACK_REWRITTEN && entry->rewrite & CONNTRACK_REWRITE_MASQUERADE;
}

/* Returns whether the entry has the tuple that the outside sees of a masqueraded flow. */
static __always_inline bool entry_is_masquerade(const struct conntrack_entry *entry)
{
	const __u8 both = CONNTRACK_REWRITE_DESTINATION | CONNTRACK_REWRITE_MASQUERADE;

	return entry->flags & CONNTRACK_REWRITTEN && (entry->rewrite & both) == both;
}

#endif
