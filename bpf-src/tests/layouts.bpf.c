// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Never loaded. Its BTF contains every struct and enum that Java shares with the programs, from which the build writes the
 * package agent.maps.layout.
 */
#include "config/balancer_config.h"
#include "config/conntrack_sweep.h"
#include "config/found_socket.h"
#include "config/node_config.h"
#include "config/prefilter_config.h"
#include "config/socket_config.h"
#include "lib/drop_reason.h"
#include "maps/balancer_map.h"
#include "maps/conntrack_map.h"
#include "maps/device_map.h"
#include "maps/endpoint_map.h"
#include "maps/event_map.h"
#include "maps/flow_usage_map.h"
#include "maps/early_fragment_map.h"
#include "maps/fragment_identity_map.h"
#include "maps/fragment_map.h"
#include "maps/interface_map.h"
#include "maps/ipcache_map.h"
#include "maps/metrics_map.h"
#include "maps/overflow_flow_map.h"
#include "maps/policy_map.h"
#include "maps/port_usage_map.h"
#include "maps/redirect_map.h"
#include "maps/prefilter_map.h"
#include "maps/rate_map.h"
#include "maps/reject_map.h"
#include "maps/scratch_map.h"
#include "maps/service_map.h"
#include "maps/verdict_map.h"
#include "maps/watched_address_map.h"

/* A flyweight for a struct, an enum of Java for an enum. */
#define SHOW(kind, type) kind type layout_##type
/* An enum whose constants are sizes or places and not the values of one thing: plain numbers in Java. */
#define NUMBERS(type) enum type numbers_##type

SHOW(struct, conntrack_sweep);
SHOW(struct, node_config);
SHOW(struct, prefilter_config);
SHOW(struct, balancer_config);
SHOW(struct, socket_config);
SHOW(struct, balancer_flow);
SHOW(struct, balancer_flow_key);
SHOW(struct, conntrack4_key);
SHOW(struct, conntrack6_key);
SHOW(struct, conntrack_end);
SHOW(struct, conntrack_entry);
SHOW(struct, device_entry);
SHOW(struct, redirect_socket_key);
SHOW(struct, redirect_socket);
SHOW(struct, endpoint_entry);
SHOW(struct, endpoint_rates);
SHOW(struct, flow_event);
SHOW(struct, flow_usage);
SHOW(struct, found_socket);
SHOW(struct, early_fragment);
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
SHOW(struct, port_usage);
SHOW(struct, prefilter_slot);
SHOW(struct, service_affinity);
SHOW(struct, service_affinity_key);
SHOW(struct, service_backend_key);
SHOW(struct, service_cells);
SHOW(struct, service_end);
SHOW(struct, service_entry);
SHOW(struct, service_key);
SHOW(struct, service_slot);
SHOW(struct, service_slot_key);
SHOW(struct, service_table);
SHOW(struct, service_table_key);
SHOW(struct, share_rate);
SHOW(struct, translation_event);

SHOW(enum, aggregation_level);
SHOW(enum, backend_state);
SHOW(enum, conntrack_delivery);
SHOW(enum, redirect_kind);
SHOW(enum, conntrack_flag);
SHOW(enum, conntrack_rewrite);
SHOW(enum, conntrack_side);
SHOW(enum, conntrack_table);
SHOW(enum, drop_reason);
SHOW(enum, endpoint_option);
SHOW(enum, event_gate);
SHOW(enum, event_type);
SHOW(enum, found_socket_flag);
SHOW(enum, ipcache_flag);
SHOW(enum, metrics_direction);
SHOW(enum, policy_direction);
SHOW(enum, policy_flag);
SHOW(enum, prefilter_cell);
SHOW(enum, prefilter_table);
SHOW(enum, service_forwarding);
SHOW(enum, service_gate);
SHOW(enum, service_scope);
SHOW(enum, socket_counter);
SHOW(enum, translation_place);

NUMBERS(balancer_size);
NUMBERS(conntrack_pending);
NUMBERS(conntrack_size);
NUMBERS(device_size);
NUMBERS(endpoint_size);
NUMBERS(generation_layout);
NUMBERS(interface_size);
NUMBERS(metrics_layout);
NUMBERS(policy_prefix);
NUMBERS(policy_size);
NUMBERS(prefilter_layout);
NUMBERS(rate_size);
NUMBERS(redirect_size);
NUMBERS(service_size);
NUMBERS(watched_address_size);
