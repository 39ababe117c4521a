// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Never loaded. Its BTF contains every struct and enum that Java shares with the programs, for the layout check. */
#include "config/conntrack_sweep.h"
#include "config/node_config.h"
#include "config/prefilter_config.h"
#include "lib/drop_reason.h"
#include "maps/conntrack_map.h"
#include "maps/device_map.h"
#include "maps/endpoint_map.h"
#include "maps/event_map.h"
#include "maps/fragment_map.h"
#include "maps/interface_map.h"
#include "maps/ipcache_map.h"
#include "maps/metrics_map.h"
#include "maps/policy_map.h"
#include "maps/prefilter_map.h"
#include "maps/scratch_map.h"

#define SHOW(kind, type) kind type layout_##type

SHOW(struct, conntrack_sweep);
SHOW(struct, node_config);
SHOW(struct, prefilter_config);
SHOW(struct, conntrack4_key);
SHOW(struct, conntrack6_key);
SHOW(struct, conntrack_entry);
SHOW(struct, endpoint_entry);
SHOW(struct, flow_event);
SHOW(struct, fragment4_key);
SHOW(struct, fragment6_key);
SHOW(struct, fragment_entry);
SHOW(struct, interface_cell);
SHOW(struct, ipcache4_key);
SHOW(struct, ipcache6_key);
SHOW(struct, ipcache_entry);
SHOW(struct, metrics_entry);
SHOW(struct, policy_key);
SHOW(struct, policy_entry);
SHOW(struct, prefilter_slot);

SHOW(enum, aggregation_level);
SHOW(enum, conntrack_delivery);
SHOW(enum, conntrack_flag);
SHOW(enum, conntrack_pending);
SHOW(enum, conntrack_rewrite);
SHOW(enum, conntrack_scope);
SHOW(enum, conntrack_side);
SHOW(enum, conntrack_size);
SHOW(enum, conntrack_table);
SHOW(enum, device_size);
SHOW(enum, drop_reason);
SHOW(enum, endpoint_option);
SHOW(enum, endpoint_size);
SHOW(enum, event_type);
SHOW(enum, generation_layout);
SHOW(enum, interface_size);
SHOW(enum, ipcache_flag);
SHOW(enum, metrics_direction);
SHOW(enum, metrics_layout);
SHOW(enum, policy_direction);
SHOW(enum, policy_flag);
SHOW(enum, policy_prefix);
SHOW(enum, policy_size);
SHOW(enum, prefilter_cell);
SHOW(enum, prefilter_geometry);
SHOW(enum, prefilter_table);
