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

import agent.datapath.manager.spec.FlowRing;
import agent.datapath.manager.spec.ServiceProxy;
import agent.maps.layout.MapSize;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Every option of the daemon: {@code agent-api.md}, "Agent start-up options" and "Limits", and
 * {@code decisions.md}. The start refuses options for which {@link AgentOption#served()} is false,
 * where they ask for something, and says what they need.
 */
public final class OptionTable {
  private static final long MOST_MAP_ENTRIES = 1L << 26;
  private static final long MOST_POLICY_ENTRIES = 1L << 20;
  private static final long MOST_HELD = 2_000_000;

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
        served(GENERAL, "lib-dir", STRING, "/var/lib/agent", "Directory for run-time builds"),
        served(GENERAL, "restore", BOOL, "true", "Restore the state of the previous run"),
        served(GENERAL, "keep-config", BOOL, "false", "Keep the workloads' options on restore"),
        served(GENERAL, "agent-labels", STRINGS, "", "Labels that identify this agent"),
        served(GENERAL, "debug", BOOL, "false", "Log at debug level").withShort('D'),
        served(GENERAL, "debug-verbose", STRINGS, "", "Groups of very detailed debug messages"),
        served(GENERAL, "help", BOOL, "false", "Print this text").withShort('h'),
        served(GENERAL, "version", BOOL, "false", "Print the version"));
  }

  private static List<AgentOption> api() {
    return List.of(
        served(API, "socket-path", STRING, "<state-dir>/agent.sock", "Unix socket of the API"),
        served(API, "socket-group", STRING, "agent", "Group that may use the socket"),
        served(API, "api-max-body", INT, "16777216", "Largest request body, in bytes")
            .withRange(1024, Integer.MAX_VALUE),
        served(API, "max-labels", INT, "1000", "Most labels, or options, in a request")
            .withRange(1, MOST_HELD),
        served(API, "api-rate-limit", MAP, "", "Calls a second by operation class"),
        served(API, "pprof", BOOL, "false", "Serve the profiling API"));
  }

  private static List<AgentOption> datapath() {
    return List.of(
        served(DATAPATH, "bpf-root", STRING, "/sys/fs/bpf", "BPF file system that holds the pins"),
        served(DATAPATH, "cgroup-root", STRING, "", "Control group whose sockets use services"),
        later(DATAPATH, "datapath-mode", STRING, "veth", "Kind of workload interfaces")
            .needing("workloads on ipvlan devices")
            .withChoices("veth", "ipvlan"),
        served(
                DATAPATH,
                "device",
                STRING,
                "undefined",
                "Devices that face the network: names, patterns, auto")
            .withShort('d'),
        served(
                DATAPATH,
                "host-routing",
                STRING,
                "auto",
                "Whether flows bypass the stack of the node")
            .withChoices("auto", "bpf", "legacy"),
        later(DATAPATH, "ipvlan-master-device", STRING, "undefined", "Master device of ipvlan")
            .needing("workloads on ipvlan devices"),
        served(DATAPATH, "preallocate-bpf-maps", BOOL, "true", "Allocate map memory up front"),
        served(DATAPATH, "bpf-compile-debug", BOOL, "false", "Debug the BPF compilation"),
        served(DATAPATH, "keep-bpf-templates", BOOL, "false", "Use BPF sources already on disk"),
        served(DATAPATH, "mtu", INT, "0", "MTU instead of the detected one (0)")
            .withRange(0, 65_535),
        served(DATAPATH, "lb", STRING, "", "Interface to balance services on"),
        later(DATAPATH, "sockops-enable", BOOL, "false", "Connect local sockets directly")
            .needing("the short cut between local sockets"),
        later(DATAPATH, "enable-ipsec", BOOL, "false", "Encrypt between nodes with IPsec")
            .needing("encryption between nodes"),
        later(DATAPATH, "ipsec-key-file", STRING, "", "File of the IPsec key")
            .needing("encryption between nodes"));
  }

  private static List<AgentOption> conntrack() {
    return List.of(
        served(DATAPATH, "disable-conntrack", BOOL, "false", "Ask the policy for every packet"),
        served(
                DATAPATH,
                "bpf-ct-global-tcp-max",
                INT,
                Integer.toString(MapSize.CONNTRACK_TCP),
                "Most tracked TCP flows")
            .withRange(1024, MOST_MAP_ENTRIES),
        served(
                DATAPATH,
                "bpf-ct-global-any-max",
                INT,
                Integer.toString(MapSize.CONNTRACK_ANY),
                "Most tracked flows beside TCP")
            .withRange(1024, MOST_MAP_ENTRIES),
        served(
                DATAPATH,
                "bpf-policy-map-max",
                INT,
                Integer.toString(MapSize.POLICY_MAP),
                "Most entries of a policy map")
            .withRange(256, MOST_POLICY_ENTRIES),
        served(
                DATAPATH,
                "conntrack-garbage-collector-interval",
                DURATION,
                "60",
                "Time between sweeps of the conntrack tables")
            .withRange(1, 86_400),
        served(
                DATAPATH,
                "conntrack-endpoint-share",
                INT,
                "100",
                "Share of one endpoint in a table's free entries, in percent")
            .withRange(1, 10_000),
        served(
                DATAPATH,
                "masquerade-endpoint-share",
                INT,
                "25",
                "Share of one endpoint in the ports of masqueraded flows, in percent")
            .withRange(1, 100),
        served(
                DATAPATH,
                "endpoint-event-rate",
                INT,
                "10000",
                "Most events of one endpoint in a second; 0: no limit")
            .withRange(0, Integer.MAX_VALUE));
  }

  private static List<AgentOption> addressing() {
    return List.of(
        served(ADDRESSING, "enable-ipv4", BOOL, "true", "Serve IPv4"),
        served(ADDRESSING, "enable-ipv6", BOOL, "true", "Serve IPv6"),
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
        later(ADDRESSING, "ipv4-cluster-cidr-mask-size", INT, "8", "Mask of the cluster's prefix")
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
        later(ADDRESSING, "auto-direct-node-routes", BOOL, "false", "Route to peers on the link")
            .needing("routes to other nodes"),
        later(ADDRESSING, "single-cluster-route", BOOL, "false", "One route for all nodes")
            .needing("routes to other nodes"));
  }

  private static List<AgentOption> translation() {
    return List.of(
        served(ADDRESSING, "nat46-range", STRING, "0:0:0:0:0:FFFF::/96", "IPv6 prefix of NAT46"),
        served(
            ADDRESSING, "masquerade", BOOL, "true", "Masquerade workloads with the node's address"),
        served(
            ADDRESSING,
            "ipv4-native-routing-cidr",
            STRING,
            "auto",
            "IPv4 prefix to which workloads send with their own address"),
        served(
            ADDRESSING,
            "ipv6-native-routing-cidr",
            STRING,
            "auto",
            "IPv6 prefix to which workloads send with their own address"),
        served(
            ADDRESSING,
            "install-iptables-rules",
            BOOL,
            "true",
            "Masquerade by rules where the stack routes flows"),
        served(
            ADDRESSING,
            "prepend-iptables-chains",
            BOOL,
            "true",
            "Put these rules before those of others, else after"));
  }

  private static List<AgentOption> policy() {
    return List.of(
        served(POLICY, "enable-policy", STRING, "default", "When policy is enforced")
            .withChoices("default", "always", "never"),
        served(POLICY, "allow-localhost", STRING, "auto", "When the node reaches its workloads")
            .withChoices("auto", "always", "policy"),
        served(POLICY, "max-policy-rules", INT, "20000", "Most rules that are held")
            .withRange(1, MOST_HELD),
        served(POLICY, "max-policy-peers", INT, "100000", "Most peers and ports in all rules")
            .withRange(1, MOST_HELD),
        served(POLICY, "max-policy-cidrs", INT, "50000", "Most CIDRs in all rules")
            .withRange(1, MOST_HELD),
        served(POLICY, "max-policy-labels", INT, "100000", "Most labels in all rules")
            .withRange(1, MOST_HELD),
        served(POLICY, "max-policy-text", INT, "50331648", "Most characters in all rules")
            .withRange(1, Integer.MAX_VALUE),
        served(POLICY, "labels", STRINGS, "", "Prefixes of labels that make identities"),
        served(POLICY, "label-prefix-file", STRING, "", "File of label prefixes"),
        served(POLICY, "fixed-identity-mapping", MAP, "", "Reserved identities by label"),
        served(POLICY, "enable-tracing", BOOL, "false", "Trace policy decisions"));
  }

  private static List<AgentOption> prefilter() {
    return List.of(
        served(PREFILTER, "prefilter-device", STRING, "undefined", "Device to filter at XDP"),
        served(PREFILTER, "prefilter-mode", STRING, "native", "Where XDP runs: driver or stack")
            .withChoices("native", "generic"),
        served(PREFILTER, "max-prefixes", INT, "1000000", "Most prefixes on the list")
            .withRange(1, MOST_HELD));
  }

  private static List<AgentOption> dns() {
    return List.of(
        served(
                DNS,
                "tofqdns-dns-reject-response-code",
                STRING,
                "refused",
                "Answer to a refused DNS request")
            .withChoices("nameError", "refused"),
        served(DNS, "tofqdns-enable-poller", BOOL, "false", "Look up the names in rules"),
        served(DNS, "tofqdns-enable-poller-events", BOOL, "true", "Show the poller's answers"),
        served(DNS, "tofqdns-pre-cache", STRING, "", "File to fill the name cache from"),
        served(DNS, "tofqdns-endpoint-max-ip-per-hostname", INT, "50", "Addresses kept per name")
            .withRange(1, 65_535),
        served(
            DNS,
            "tofqdns-min-ttl",
            DURATION,
            "604800",
            "Least time a name is kept; 3600 with the poller"),
        served(DNS, "tofqdns-proxy-port", INT, "0", "First port of the DNS proxy (0: any)")
            .withRange(0, 65_528));
  }

  private static List<AgentOption> proxy() {
    return List.of(
        served(PROXY, "access-log", STRING, "", "Log of layer 7 requests"),
        served(PROXY, "proxy-engine-log", STRING, "", "Log of the proxies, with details"),
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
                "Requests with %2F or %5C in the path")
            .withChoices("reject", "keep"),
        served(PROXY, "http-idle-timeout", DURATION, "0", "Idle time-out of a stream (0: none)")
            .withRange(0, Integer.MAX_VALUE),
        served(PROXY, "http-max-grpc-timeout", DURATION, "0", "Longest gRPC request (0: any)")
            .withRange(0, Integer.MAX_VALUE),
        served(PROXY, "http-request-timeout", DURATION, "3600", "Longest request (0: any)")
            .withRange(0, Integer.MAX_VALUE),
        served(PROXY, "http-retry-count", INT, "3", "Retries of a failed request")
            .withRange(0, Integer.MAX_VALUE),
        served(PROXY, "http-retry-timeout", DURATION, "0", "Time before a retry (0: never)")
            .withRange(0, Integer.MAX_VALUE),
        served(PROXY, "proxy-connect-timeout", DURATION, "1", "Longest connect attempt")
            .withRange(1, 3_600));
  }

  private static List<AgentOption> cluster() {
    return List.of(
        served(CLUSTER, "cluster-name", STRING, "default", "Name of the cluster"),
        later(CLUSTER, "cluster-id", INT, "0", "Number of the cluster").withRange(0, 255),
        later(CLUSTER, "cluster-mesh-config", STRING, "", "Directory of other clusters"),
        later(CLUSTER, "kvstore", STRING, "", "Kind of key-value store")
            .needing("a key-value store"),
        later(CLUSTER, "kvstore-opt", MAP, "", "Options of the key-value store")
            .needing("a key-value store"),
        later(CLUSTER, "kvstore-periodic-sync", DURATION, "5m0s", "Time between full syncs")
            .needing("a key-value store"));
  }

  private static List<AgentOption> orchestrator() {
    return List.of(
        later(ORCHESTRATOR, "orch-api-server", STRING, "", "Address of the orchestrator"),
        later(ORCHESTRATOR, "orch-kubeconfig-path", STRING, "", "Its client configuration"),
        later(ORCHESTRATOR, "orch-require-ipv4-pod-cidr", BOOL, "false", "Wait for an IPv4 CIDR"),
        later(ORCHESTRATOR, "orch-require-ipv6-pod-cidr", BOOL, "false", "Wait for an IPv6 CIDR"),
        later(ORCHESTRATOR, "disable-endpoint-crd", BOOL, "false", "Do not publish endpoints")
            .withInert("true"),
        served(ORCHESTRATOR, "disable-orch-services", BOOL, "false", "Do not balance services"),
        served(ORCHESTRATOR, "service-algorithm", STRING, "maglev", "How packets select backends")
            .withChoices("maglev", "random"),
        served(
                ORCHESTRATOR,
                "service-table-size",
                INT,
                ServiceProxy.TABLE_SIZES.getLast().toString(),
                "Most cells of a table")
            .withChoices(
                ServiceProxy.TABLE_SIZES.stream().map(String::valueOf).toArray(String[]::new)),
        served(ORCHESTRATOR, "max-service-backends", INT, "250000", "Most backends of all services")
            .withRange(1, MOST_HELD),
        later(ORCHESTRATOR, "container-runtime", STRINGS, "auto", "Container runtimes to watch")
            .needing("a client of container runtimes")
            .withInert("none"),
        later(ORCHESTRATOR, "container-runtime-endpoint", MAP, "", "Their sockets by kind")
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
                "Take over containers of a chained plugin")
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
        served(
                OBSERVATION,
                "flowobs-event-buffer-capacity",
                INT,
                "4096",
                "Events that the flow observer keeps, 0: none")
            .withRange(0, FlowRing.LARGEST),
        served(
            OBSERVATION,
            "flowobs-monitor-events",
            STRINGS,
            "",
            "drop, verdict, trace, l7: kept while no program listens, too"),
        served(OBSERVATION, "log-driver", STRINGS, "", "Log drivers beside the console"),
        served(OBSERVATION, "log-opt", MAP, "", "Options of the log drivers"),
        served(OBSERVATION, "log-system-load", BOOL, "false", "Log the system's load"),
        served(
                OBSERVATION,
                "monitor-aggregation",
                STRING,
                "None",
                "Aggregation level of trace events")
            .withChoices("None", "Low", "Medium", "Maximum"),
        served(OBSERVATION, "monitor-queue-size", INT, "32768", "Events kept for a slow reader")
            .withRange(1, 1 << 20),
        served(OBSERVATION, "trace-payloadlen", INT, "128", "Bytes of a packet in an event")
            .withRange(0, 65_535),
        served(OBSERVATION, "prometheus-serve-addr", STRING, "", "Address to serve metrics on"));
  }
}
