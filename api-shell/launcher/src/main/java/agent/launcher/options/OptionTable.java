package agent.launcher.options;

import static agent.launcher.options.AgentOption.later;
import static agent.launcher.options.AgentOption.served;
import static agent.launcher.options.OptionGroup.ADDRESSING;
import static agent.launcher.options.OptionGroup.API;
import static agent.launcher.options.OptionGroup.CLUSTER;
import static agent.launcher.options.OptionGroup.DATAPATH;
import static agent.launcher.options.OptionGroup.DNS;
import static agent.launcher.options.OptionGroup.GENERAL;
import static agent.launcher.options.OptionGroup.OBSERVATION;
import static agent.launcher.options.OptionGroup.ORCHESTRATOR;
import static agent.launcher.options.OptionGroup.POLICY;
import static agent.launcher.options.OptionGroup.PREFILTER;
import static agent.launcher.options.OptionGroup.PROXY;
import static agent.launcher.options.OptionType.BOOL;
import static agent.launcher.options.OptionType.DURATION;
import static agent.launcher.options.OptionType.INT;
import static agent.launcher.options.OptionType.MAP;
import static agent.launcher.options.OptionType.STRING;
import static agent.launcher.options.OptionType.STRINGS;

import agent.datapath.spec.DatapathOptions;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.Masquerading;
import agent.datapath.spec.ServiceProxy;
import agent.dns.NamesContext;
import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.HttpProxyContext;
import agent.maps.layout.MapSize;
import agent.policy.repository.PolicyLimits;
import agent.server.ApiContext;
import agent.server.BodyLimits;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Every option of the daemon: {@code agent-api.md}, "Agent start-up options" and "Limits", and
 * {@code decisions.md}. A number that a part of the agent checks, too, is declared by that part.
 * The start refuses options for which {@link AgentOption#served()} is false, where they ask for
 * something, and says what they need.
 */
public final class OptionTable {
  private static final Map<String, AgentOption> BY_NAME = index();

  private OptionTable() {}

  /**
   * All rows, in the order of the help text within their groups.
   *
   * @return the table
   */
  public static List<AgentOption> all() {
    return List.copyOf(BY_NAME.values());
  }

  /**
   * Finds a row.
   *
   * @param name long name without dashes
   * @return the row, or null where there is none
   */
  public static AgentOption byName(String name) {
    return BY_NAME.get(name);
  }

  static AgentOption byShortName(char letter) {
    for (final AgentOption option : BY_NAME.values()) {
      if (option.shortName() == letter) {
        return option;
      }
    }
    return null;
  }

  private static Map<String, AgentOption> index() {
    final Map<String, AgentOption> byName = new LinkedHashMap<>();
    Stream.of(
            general(),
            api(),
            datapath(),
            conntrack(),
            addressing(),
            translation(),
            policy(),
            prefilter(),
            needing("names in policy", dns()),
            needing("proxies of containers", proxy()),
            needing("clusters of nodes", cluster()),
            needing("the orchestrator", orchestrator()),
            observation())
        .flatMap(List::stream)
        .forEach(option -> byName.put(option.name(), option));
    return Collections.unmodifiableMap(byName);
  }

  /** Names the part for all options of a list that are not served and name none themselves. */
  private static List<AgentOption> needing(String part, List<AgentOption> options) {
    return options.stream()
        .map(option -> AgentOption.LATER.equals(option.needs()) ? option.needing(part) : option)
        .toList();
  }

  private static List<AgentOption> general() {
    return List.of(
        served(GENERAL, "config", STRING, "$HOME/agent.yaml", "YAML file with options"),
        served(GENERAL, "state-dir", STRING, "/var/run/agent", "Directory of the state files"),
        served(
            GENERAL,
            "lib-dir",
            STRING,
            "/var/lib/agent",
            "Directory of programs compiled at run time"),
        served(GENERAL, "restore", BOOL, "true", "Restore the state of the previous run"),
        served(GENERAL, "keep-config", BOOL, "false", "Keep the options of restored endpoints"),
        served(GENERAL, "agent-labels", STRINGS, "", "Labels that identify this agent"),
        served(GENERAL, "debug", BOOL, "false", "Log at debug level").live().withShort('D'),
        served(GENERAL, "debug-verbose", STRINGS, "", "Groups of verbose debug messages").live(),
        served(GENERAL, "help", BOOL, "false", "Print this text").withShort('h'),
        served(GENERAL, "version", BOOL, "false", "Print the version"));
  }

  private static List<AgentOption> api() {
    return List.of(
        served(API, "socket-path", STRING, "<state-dir>/agent.sock", "Unix socket of the API"),
        served(API, "socket-group", STRING, "agent", "Group that may use the socket"),
        served(API, ApiContext.MAX_BODY, INT, "Maximum size of a request body, in bytes"),
        served(API, BodyLimits.MAX_ENTRIES, INT, "Maximum labels, or options, in a request"),
        served(API, "api-rate-limit", MAP, "", "Rate limits by operation class: read=10/s").live(),
        served(API, "pprof", BOOL, "false", "Serve the profiling API"));
  }

  private static List<AgentOption> datapath() {
    return List.of(
        served(DATAPATH, "bpf-root", STRING, "/sys/fs/bpf", "BPF file system that holds the pins"),
        served(DATAPATH, "cgroup-root", STRING, "", "Control group whose sockets are balanced"),
        later(DATAPATH, "datapath-mode", STRING, "veth", "Kind of workload interfaces")
            .needing("workloads on ipvlan devices")
            .withChoices("veth", "ipvlan"),
        served(
                DATAPATH,
                "device",
                STRING,
                "undefined",
                "Network-facing devices: names, patterns, auto")
            .withShort('d'),
        served(DATAPATH, "host-routing", STRING, "auto", "Bypass of the node's network stack")
            .withChoices("auto", "bpf", "legacy"),
        later(DATAPATH, "ipvlan-master-device", STRING, "undefined", "Master device of ipvlan")
            .needing("workloads on ipvlan devices"),
        served(DATAPATH, "preallocate-bpf-maps", BOOL, "true", "Preallocate the memory of maps"),
        served(
            DATAPATH,
            "bpf-compile-debug",
            BOOL,
            "false",
            "Compile on this node, and keep the output of clang"),
        served(DATAPATH, "keep-bpf-templates", BOOL, "false", "Use BPF sources already on disk"),
        served(DATAPATH, "mtu", INT, "0", "MTU; 0: detected").withRange(0, 65_535),
        served(DATAPATH, "lb", STRING, "", "Interface on which services are load-balanced"),
        later(
                DATAPATH,
                "sockops-enable",
                BOOL,
                "false",
                "Short-circuit connections between local sockets")
            .needing("the short circuit between local sockets"),
        later(DATAPATH, "enable-ipsec", BOOL, "false", "Encrypt traffic between nodes with IPsec")
            .needing("encryption between nodes"),
        later(DATAPATH, "ipsec-key-file", STRING, "", "File of the IPsec key")
            .needing("encryption between nodes"));
  }

  private static List<AgentOption> conntrack() {
    return List.of(
        served(DATAPATH, "disable-conntrack", BOOL, "false", "Evaluate the policy for every packet")
            .live(),
        served(DATAPATH, DatapathOptions.CONNTRACK_TCP_MAX, INT, "Maximum tracked TCP flows"),
        served(
            DATAPATH,
            DatapathOptions.CONNTRACK_ANY_MAX,
            INT,
            "Maximum tracked flows other than TCP"),
        served(DATAPATH, DatapathOptions.POLICY_MAP_MAX, INT, "Maximum entries of a policy map"),
        served(
            DATAPATH,
            DatapathOptions.CONNTRACK_GC_INTERVAL,
            DURATION,
            "Interval of the conntrack garbage collection"),
        served(
            DATAPATH,
            DatapathOptions.FLOW_SHARE,
            INT,
            "Share of an endpoint in the free conntrack entries, in percent"),
        served(
            DATAPATH,
            Masquerading.ENDPOINT_SHARE,
            INT,
            "Share of an endpoint in the masquerading ports, in percent"),
        served(
            DATAPATH,
            DatapathOptions.EVENT_RATE,
            INT,
            "Maximum events of an endpoint per second; 0: no limit"));
  }

  private static List<AgentOption> addressing() {
    return List.of(
        served(ADDRESSING, "enable-ipv4", BOOL, "true", "Enable IPv4"),
        served(ADDRESSING, "enable-ipv6", BOOL, "true", "Enable IPv6"),
        served(ADDRESSING, "ipv4-node", STRING, "auto", "IPv4 address of this node"),
        served(ADDRESSING, "ipv6-node", STRING, "auto", "IPv6 address of this node"),
        served(ADDRESSING, "ipv4-range", STRING, "auto", "IPv4 prefix of this node's workloads"),
        served(ADDRESSING, "ipv6-range", STRING, "auto", "IPv6 /96 of this node's workloads"),
        served(
            ADDRESSING,
            "ipv6-cluster-alloc-cidr",
            STRING,
            "f00d::/64",
            "IPv6 /64 of which each node takes a /96"),
        later(
                ADDRESSING,
                "ipv4-cluster-cidr-mask-size",
                INT,
                "8",
                "Prefix length of the cluster's IPv4 range")
            .needing("routes to other nodes")
            .withRange(1, 32),
        later(ADDRESSING, "ipv4-service-range", STRING, "auto", "IPv4 prefix of services")
            .needing("the load balancer"),
        later(ADDRESSING, "ipv6-service-range", STRING, "auto", "IPv6 prefix of services")
            .needing("the load balancer"),
        later(ADDRESSING, "tunnel", STRING, "vxlan", "Tunnel between nodes")
            .needing("the overlay between nodes")
            .withShort('t')
            .withChoices("vxlan", "geneve", "disabled")
            .withInert("disabled"),
        later(
                ADDRESSING,
                "auto-direct-node-routes",
                BOOL,
                "false",
                "Install routes to nodes on the same link")
            .needing("routes to other nodes"),
        later(ADDRESSING, "single-cluster-route", BOOL, "false", "Use one route for all nodes")
            .needing("routes to other nodes"));
  }

  private static List<AgentOption> translation() {
    return List.of(
        served(ADDRESSING, "nat46-range", STRING, "0:0:0:0:0:FFFF::/96", "IPv6 prefix of NAT46"),
        served(
            ADDRESSING,
            "masquerade",
            BOOL,
            "true",
            "Masquerade workloads behind the node's address"),
        served(
            ADDRESSING,
            "ipv4-native-routing-cidr",
            STRING,
            "auto",
            "IPv4 prefix that is not masqueraded"),
        served(
            ADDRESSING,
            "ipv6-native-routing-cidr",
            STRING,
            "auto",
            "IPv6 prefix that is not masqueraded"),
        served(
            ADDRESSING,
            "install-iptables-rules",
            BOOL,
            "true",
            "Masquerade flows through the stack by netfilter rules"),
        served(
            ADDRESSING,
            "prepend-iptables-chains",
            BOOL,
            "true",
            "Insert these rules before others, else append them"));
  }

  private static List<AgentOption> policy() {
    return List.of(
        served(POLICY, "enable-policy", STRING, "default", "Policy enforcement")
            .live()
            .withChoices("default", "always", "never"),
        served(POLICY, "allow-localhost", STRING, "auto", "Access of the node to its workloads")
            .withChoices("auto", "always", "policy"),
        served(POLICY, PolicyLimits.RULES, INT, "Maximum policy rules"),
        served(POLICY, PolicyLimits.PEERS, INT, "Maximum peers and ports in all rules"),
        served(POLICY, PolicyLimits.CIDRS, INT, "Maximum CIDRs in all rules"),
        served(POLICY, PolicyLimits.LABELS, INT, "Maximum labels in all rules"),
        served(POLICY, PolicyLimits.TEXT, INT, "Maximum characters in all rules"),
        served(POLICY, "labels", STRINGS, "", "Prefixes of identity-relevant labels"),
        served(POLICY, "label-prefix-file", STRING, "", "File of identity-relevant label prefixes"),
        served(POLICY, "fixed-identity-mapping", MAP, "", "Fixed identities: number=name"),
        served(POLICY, "enable-tracing", BOOL, "false", "Trace policy decisions").live());
  }

  private static List<AgentOption> prefilter() {
    return List.of(
        served(PREFILTER, "prefilter-device", STRING, "undefined", "Device of the XDP prefilter"),
        served(PREFILTER, "prefilter-mode", STRING, "native", "XDP mode of the prefilter")
            .withChoices("native", "generic"),
        served(PREFILTER, DatapathOptions.MAX_PREFIXES, INT, "Maximum prefixes of the prefilter"));
  }

  private static List<AgentOption> dns() {
    return List.of(
        served(
                DNS,
                "tofqdns-dns-reject-response-code",
                STRING,
                "refused",
                "Response to a denied DNS query")
            .withChoices("nameError", "refused"),
        served(DNS, "tofqdns-enable-poller", BOOL, "false", "Poll the DNS names in rules"),
        served(
            DNS,
            "tofqdns-enable-poller-events",
            BOOL,
            "true",
            "Emit events for the poller's answers"),
        served(DNS, "tofqdns-pre-cache", STRING, "", "File that preloads the DNS name cache"),
        served(DNS, NamesContext.ADDRESSES, INT, "Maximum addresses per DNS name"),
        served(
            DNS,
            NamesContext.LEAST_TTL,
            DURATION,
            "Minimum TTL of DNS names; 3600 with the poller"),
        served(DNS, DnsProxyContext.PORT, INT, "First port of the DNS proxy (0: any)"));
  }

  private static List<AgentOption> proxy() {
    return List.of(
        served(PROXY, "access-log", STRING, "", "File of the layer 7 access log"),
        served(PROXY, "proxy-engine-log", STRING, "", "File of the detailed log of the proxies")
            .live(),
        later(
            PROXY,
            "sidecar-mesh-proxy-image",
            STRING,
            "^(.*/)?mesh-proxy(:.*)?$",
            "Images of sidecar proxies"),
        served(
                PROXY,
                "http-escaped-slashes",
                STRING,
                "reject",
                "Handling of %2F and %5C in request paths")
            .withChoices("reject", "keep"),
        served(
            PROXY, HttpProxyContext.IDLE_TIMEOUT, DURATION, "Idle timeout of a stream (0: none)"),
        served(
            PROXY, HttpProxyContext.GRPC_TIMEOUT, DURATION, "Timeout of a gRPC request (0: none)"),
        served(PROXY, HttpProxyContext.REQUEST_TIMEOUT, DURATION, "Timeout of a request (0: none)"),
        served(PROXY, HttpProxyContext.RETRY_COUNT, INT, "Retries of a failed request"),
        served(
            PROXY,
            HttpProxyContext.RETRY_TIMEOUT,
            DURATION,
            "Timeout before a retry (0: no retry)"),
        served(
            PROXY, HttpProxyContext.CONNECT_TIMEOUT, DURATION, "Timeout of a connection attempt"));
  }

  private static List<AgentOption> cluster() {
    return List.of(
        served(CLUSTER, "cluster-name", STRING, "default", "Name of the cluster"),
        later(CLUSTER, "cluster-id", INT, "0", "Number of the cluster").withRange(0, 255),
        later(
            CLUSTER,
            "cluster-mesh-config",
            STRING,
            "",
            "Directory of the configurations of other clusters"),
        later(CLUSTER, "kvstore", STRING, "", "Kind of key-value store")
            .needing("a key-value store"),
        later(CLUSTER, "kvstore-opt", MAP, "", "Options of the key-value store")
            .needing("a key-value store"),
        later(
                CLUSTER,
                "kvstore-periodic-sync",
                DURATION,
                "5m0s",
                "Interval of the full synchronization")
            .needing("a key-value store"));
  }

  private static List<AgentOption> orchestrator() {
    return List.of(
        later(ORCHESTRATOR, "orch-api-server", STRING, "", "Address of the orchestrator"),
        later(
            ORCHESTRATOR,
            "orch-kubeconfig-path",
            STRING,
            "",
            "Client configuration for the orchestrator"),
        later(ORCHESTRATOR, "orch-require-ipv4-pod-cidr", BOOL, "false", "Wait for an IPv4 CIDR"),
        later(ORCHESTRATOR, "orch-require-ipv6-pod-cidr", BOOL, "false", "Wait for an IPv6 CIDR"),
        later(ORCHESTRATOR, "disable-endpoint-crd", BOOL, "false", "Do not publish endpoints")
            .withInert("true"),
        served(ORCHESTRATOR, "disable-orch-services", BOOL, "false", "Disable services"),
        served(ORCHESTRATOR, "service-algorithm", STRING, "maglev", "Backend selection")
            .withChoices("maglev", "random"),
        served(
                ORCHESTRATOR,
                "service-table-size",
                INT,
                ServiceProxy.TABLE_SIZES.getLast().toString(),
                "Cells of a Maglev table")
            .withChoices(
                ServiceProxy.TABLE_SIZES.stream().map(String::valueOf).toArray(String[]::new)),
        served(
                ORCHESTRATOR,
                "max-service-backends",
                INT,
                "250000",
                "Maximum backends of all services")
            .withRange(1, MapSize.SERVICE_BACKENDS_MAX),
        later(ORCHESTRATOR, "container-runtime", STRINGS, "auto", "Container runtimes to watch")
            .needing("a client of container runtimes")
            .withInert("none"),
        later(
                ORCHESTRATOR,
                "container-runtime-endpoint",
                MAP,
                "",
                "Sockets of container runtimes: kind=path")
            .needing("a client of container runtimes"),
        later(
                ORCHESTRATOR,
                "runtime-socket",
                STRING,
                "/var/run/runtime.sock",
                "Deprecated: use --container-runtime-endpoint")
            .needing("a client of container runtimes")
            .withShort('e'),
        later(
                ORCHESTRATOR,
                "chained-manage-existing-containers",
                BOOL,
                "false",
                "Manage existing containers of a chained plugin")
            .needing("chaining with another network plugin"),
        later(ORCHESTRATOR, "chained-master-device", STRING, "", "Interface of a chained plugin")
            .needing("chaining with another network plugin"),
        later(
                ORCHESTRATOR,
                "chained-uninstall-on-exit",
                BOOL,
                "false",
                "Remove chained programs on exit")
            .needing("chaining with another network plugin"));
  }

  private static List<AgentOption> observation() {
    return List.of(
        served(OBSERVATION, FlowRing.CAPACITY, INT, "Events kept by the flow observer; 0: none"),
        served(
            OBSERVATION,
            "flowobs-monitor-events",
            STRINGS,
            "",
            "Events emitted without a listener: drop, verdict, trace, l7"),
        served(OBSERVATION, "log-driver", STRINGS, "", "Log drivers in addition to the console")
            .live(),
        served(OBSERVATION, "log-opt", MAP, "", "Options of the log drivers").live(),
        served(OBSERVATION, "log-system-load", BOOL, "false", "Log the system load").live(),
        served(
                OBSERVATION,
                "monitor-aggregation",
                STRING,
                "None",
                "Aggregation level of trace events")
            .live()
            .withChoices("None", "Low", "Medium", "Maximum"),
        served(
                OBSERVATION,
                "monitor-queue-size",
                INT,
                "32768",
                "Queue of a monitor client, in events")
            .withRange(1, 1 << 20),
        served(OBSERVATION, DatapathOptions.PAYLOAD, INT, "Captured bytes of a packet"),
        served(
            OBSERVATION,
            "prometheus-serve-addr",
            STRING,
            "",
            "Listening address of the metrics server"));
  }
}
