package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.process.ProcessAttributes;
import agent.datapath.spec.ConntrackLifetimes;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.PrefilterStore;
import agent.datapath.spec.RedirectProxy;
import agent.datapath.spec.TcMode;
import agent.dns.proxy.DnsProxyContext;
import agent.dns.proxy.NameGate;
import agent.domain.node.NodeContexts;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MutableOption;
import agent.identity.Identity;
import agent.identity.LabelFilter;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.l7proxy.EscapedSlashes;
import agent.l7proxy.HttpProxyContext;
import agent.launcher.options.AgentOption;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionTable;
import agent.launcher.options.OptionType;
import agent.launcher.options.OptionValues;
import agent.maps.layout.PolicyDirection;
import agent.node.FamilyAddressing;
import agent.node.HostRouting.Choice;
import agent.node.NodeAddressing;
import agent.node.NodeOptions;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.request.RequestPolicies;
import agent.policy.resolve.EnforcementMode;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** The value of every served option is what its part is configured with. */
class OptionsReachTheirPartsTest {
  /** Options that have no row, and the tests that hold them. */
  private static final Map<String, String> ELSEWHERE =
      Map.ofEntries(
          Map.entry("config", "OptionValuesTest"),
          Map.entry("help", "AgentCommandLineTest"),
          Map.entry("version", "AgentCommandLineTest"),
          Map.entry("api-max-body", "ApiSettingsTest"),
          Map.entry("api-rate-limit", "ApiSettingsTest"),
          Map.entry("socket-group", "AgentOptionsKernelTest"),
          Map.entry("label-prefix-file", "AgentOperatorOptionsKernelTest"),
          Map.entry("log-opt", "AgentOperatorOptionsKernelTest"),
          Map.entry("pprof", "AgentOperatorOptionsKernelTest"),
          Map.entry("allow-localhost", "shouldLetTheNodeInOnlyWhereTheOptionSaysAlways"));

  /** Response codes of DNS (RFC 1035 section 4.1.1). */
  private static final int NAME_ERROR = 3;

  private static final int REFUSED = 5;

  private static final IpAddress NODE4 = IpAddress.parse("192.0.2.1");
  private static final Prefix RANGE4 = Prefix.parse("10.5.0.0/24");
  private static final Prefix RANGE6 = Prefix.parse("f00d::5:0:0/96");
  private static final NodeAddressing BOTH =
      new NodeAddressing(FamilyAddressing.of(NODE4, RANGE4), FamilyAddressing.of(null, RANGE6));

  private static final AddressPair OUTSIDE =
      new AddressPair(IpAddress.parse("192.0.2.1"), IpAddress.parse("2001:db8::1"));

  /**
   * One place that an option configures.
   *
   * @param option long name
   * @param argument a value that is not the default
   * @param part what the part is configured with
   * @param atDefault that value where the option is not given
   * @param atArgument that value with the argument
   */
  private record Row(
      String option,
      String argument,
      Function<Settings, Object> part,
      Object atDefault,
      Object atArgument) {}

  private static List<Row> rows() {
    final List<Row> rows = new ArrayList<>(nodeRows());
    rows.addAll(translationRows());
    rows.addAll(datapathRows());
    rows.addAll(serviceRows());
    rows.addAll(domainRows());
    rows.addAll(nameRows());
    rows.addAll(proxyRows());
    rows.addAll(limitRows());
    return rows;
  }

  private static List<Row> nodeRows() {
    return List.of(
        new Row("enable-ipv4", "false", s -> s.node().enableIpv4(), true, false),
        new Row("enable-ipv6", "false", s -> s.node().enableIpv6(), true, false),
        new Row("ipv4-node", "192.0.2.7", s -> s.node().ipv4Node(), "auto", "192.0.2.7"),
        new Row("ipv6-node", "fd00::7", s -> s.node().ipv6Node(), "auto", "fd00::7"),
        new Row("ipv4-range", "10.9.0.0/24", s -> s.node().ipv4Range(), "auto", "10.9.0.0/24"),
        new Row("ipv6-range", "fd09::/96", s -> s.node().ipv6Range(), "auto", "fd09::/96"),
        new Row(
            "ipv6-cluster-alloc-cidr",
            "fd08::/64",
            s -> s.node().ipv6ClusterAllocCidr(),
            "f00d::/64",
            "fd08::/64"),
        new Row("host-routing", "bpf", Settings::hostRouting, Choice.AUTO, Choice.BPF),
        new Row("host-routing", "legacy", Settings::hostRouting, Choice.AUTO, Choice.LEGACY),
        new Row("mtu", "1400", Settings::mtu, 0, 1400),
        new Row("device", "eth7", s -> s.node().device(), "undefined", "eth7"),
        new Row("device", "eth7", Settings::nodeDevices, Set.of(), Set.of("eth7")),
        new Row("device", "eth7,eth8+", Settings::nodeDevices, Set.of(), Set.of("eth7")),
        new Row("lb", "eth8", Settings::nodeDevices, Set.of(), Set.of("eth8")),
        new Row("lb", "eth7", s -> datapath(s).balancing().sources(), AddressPair.NONE, OUTSIDE),
        new Row("lb", "eth8", s -> datapath(s).balancing().device(), null, "eth8"),
        new Row("prefilter-device", "eth8", Settings::nodeDevices, Set.of(), Set.of("eth8")));
  }

  private static List<Row> translationRows() {
    return List.of(
        new Row(
            "masquerade",
            "false",
            s -> datapath(s).masquerading().native4(),
            BOTH.ipv4().range(),
            Prefix.ALL_IPV4),
        new Row(
            "masquerade",
            "false",
            s -> datapath(s).masquerading().native6(),
            BOTH.ipv6().range(),
            Prefix.ALL_IPV6),
        new Row(
            "ipv4-native-routing-cidr",
            "10.0.0.0/8",
            s -> datapath(s).masquerading().native4(),
            BOTH.ipv4().range(),
            Prefix.parse("cidr", "10.0.0.0/8")),
        new Row(
            "ipv6-native-routing-cidr",
            "fd00::/8",
            s -> datapath(s).masquerading().native6(),
            BOTH.ipv6().range(),
            Prefix.parse("cidr", "fd00::/8")),
        new Row(
            "nat46-range",
            "64:ff9b::/96",
            s -> datapath(s).masquerading().nat46Range(),
            null,
            Prefix.parse("cidr", "64:ff9b::/96")),
        new Row(
            "install-iptables-rules", "false", s -> s.masquerade().installsRules(), true, false),
        new Row(
            "prepend-iptables-chains",
            "false",
            s -> s.masquerade().rules(BOTH).areFirst(),
            true,
            false));
  }

  private static List<Row> serviceRows() {
    return List.of(
        new Row("disable-orch-services", "true", s -> datapath(s).enableServices(), true, false),
        new Row("service-algorithm", "random", s -> datapath(s).serviceTableMax(), 16_381, 0),
        new Row("service-table-size", "1021", s -> datapath(s).serviceTableMax(), 16_381, 1021),
        new Row(
            "cgroup-root",
            "/run/cgroup",
            s -> datapath(s).cgroupRoot(),
            null,
            Path.of("/run/cgroup")),
        new Row(
            "masquerade-endpoint-share",
            "40",
            s -> datapath(s).masquerading().endpointSharePercent(),
            25,
            40));
  }

  private static List<Row> datapathRows() {
    return List.of(
        new Row(
            "lib-dir",
            "/srv/lib",
            s -> datapath(s).libDirectory(),
            Path.of("/var/lib/agent"),
            Path.of("/srv/lib")),
        new Row("keep-bpf-templates", "true", s -> datapath(s).keepsSources(), false, true),
        new Row("preallocate-bpf-maps", "false", s -> datapath(s).preallocates(), true, false),
        new Row(
            "state-dir",
            "/run/other",
            Settings::stateDirectory,
            Path.of("/var/run/agent"),
            Path.of("/run/other")),
        new Row(
            "state-dir",
            "/run/other",
            Settings::socketPath,
            Path.of("/var/run/agent/agent.sock"),
            Path.of("/run/other/agent.sock")),
        new Row(
            "socket-path",
            "/run/api.sock",
            Settings::socketPath,
            Path.of("/var/run/agent/agent.sock"),
            Path.of("/run/api.sock")),
        new Row(
            "bpf-root",
            "/run/bpf",
            s -> datapath(s).bpfRoot(),
            Path.of("/sys/fs/bpf"),
            Path.of("/run/bpf")),
        new Row("prefilter-device", "eth8", s -> datapath(s).prefilterDevice(), null, "eth8"),
        new Row(
            "prefilter-mode",
            "generic",
            s -> datapath(s).prefilterMode(),
            PrefilterMode.NATIVE,
            PrefilterMode.GENERIC),
        new Row(
            "bpf-ct-global-tcp-max", "4096", s -> datapath(s).conntrackTcpMax(), 1_000_000, 4096),
        new Row("bpf-policy-map-max", "512", s -> datapath(s).policyMapMax(), 16_384, 512),
        new Row("bpf-ct-global-any-max", "2048", s -> datapath(s).conntrackAnyMax(), 262_144, 2048),
        new Row(
            "conntrack-garbage-collector-interval",
            "2m5s",
            s -> datapath(s).conntrackGcIntervalSec(),
            60,
            125),
        new Row("conntrack-endpoint-share", "40", s -> datapath(s).flowSharePercent(), 100, 40),
        new Row("endpoint-event-rate", "0", s -> datapath(s).eventsPerSecond(), 10_000, 0),
        new Row("bpf-compile-debug", "true", s -> datapath(s).compileDebug(), false, true));
  }

  private static List<Row> domainRows() {
    return List.of(
        new Row("restore", "false", Settings::restores, true, false),
        new Row("keep-config", "true", Settings::keepsEndpointOptions, false, true),
        new Row("enable-tracing", "true", s -> s.runtimeOptions().tracesPolicy(), false, true),
        new Row(
            "enable-policy",
            "always",
            s -> s.runtimeOptions().enforcement(),
            EnforcementMode.DEFAULT,
            EnforcementMode.ALWAYS),
        new Row("enable-policy", "always", s -> engine(s).mode().text(), "default", "always"),
        new Row("enable-policy", "never", s -> engine(s).mode().text(), "default", "never"),
        new Row(
            "labels",
            "any:tier",
            s -> counting(s.labelFilter()),
            "[any:app=web, any:tier=front]",
            "[any:tier=front]"),
        new Row(
            "fixed-identity-mapping",
            "128=dns",
            s -> s.fixedIdentities().identities().size(),
            0,
            1),
        new Row("agent-labels", "a=b", Settings::agentLabels, List.of(), List.of("a=b")),
        new Row("debug", "true", s -> s.log().debug(), false, true),
        new Row("debug-verbose", "node", s -> s.log().groups(), List.of(), List.of("node")),
        new Row("log-driver", "syslog", s -> s.log().syslog().isPresent(), false, true),
        new Row("log-system-load", "true", Settings::logsSystemLoad, false, true),
        new Row(
            "prometheus-serve-addr",
            "192.0.2.1:9",
            Settings::metricsAddress,
            Optional.empty(),
            Optional.of(new InetSocketAddress("192.0.2.1", 9))),
        new Row("cluster-name", "blue", Settings::clusterName, "default", "blue"),
        new Row("debug", "true", s -> option(s, MutableOption.DEBUG), "Disabled", "Enabled"),
        new Row(
            "disable-conntrack",
            "true",
            s -> option(s, MutableOption.CONNTRACK),
            "Enabled",
            "Disabled"),
        new Row("flowobs-event-buffer-capacity", "100", s -> s.flows().capacity(), 4096, 128),
        new Row("flowobs-monitor-events", "verdict,trace", s -> s.flows().always().size(), 0, 2),
        new Row("flowobs-monitor-events", "l7", s -> s.events().hearsRequests(), false, true),
        new Row("monitor-queue-size", "7", Settings::monitorQueueEvents, 32_768, 7),
        new Row("trace-payloadlen", "7", Settings::packetBytes, 128, 7),
        new Row("trace-payloadlen", "7", s -> datapath(s).payloadBytes(), 128, 7),
        new Row(
            "monitor-aggregation",
            "Medium",
            s -> option(s, MutableOption.MONITOR_AGGREGATION_LEVEL),
            "None",
            "Medium"));
  }

  private static List<Row> nameRows() {
    return List.of(
        new Row("tofqdns-enable-poller", "true", s -> s.names().polls(), false, true),
        new Row(
            "tofqdns-enable-poller-events", "false", s -> s.names().tellsLookups(), true, false),
        new Row("tofqdns-endpoint-max-ip-per-hostname", "7", s -> s.names().mostAddresses(), 50, 7),
        new Row("tofqdns-min-ttl", "7", s -> s.names().leastTtlSec(), 604_800L, 7L),
        new Row(
            "tofqdns-pre-cache",
            "/n.json",
            s -> s.names().preCache(),
            Optional.empty(),
            Optional.of(Path.of("/n.json"))));
  }

  private static List<Row> proxyRows() {
    return List.of(
        new Row("access-log", "/a/../l", s -> s.proxies().http().accessLog(), null, Path.of("/l")),
        new Row(
            "proxy-engine-log",
            "/a/../l",
            s -> s.log().proxyLog(),
            Optional.empty(),
            Optional.of(Path.of("/l"))),
        new Row(
            "http-escaped-slashes",
            "keep",
            s -> s.proxies().http().escapedSlashes(),
            EscapedSlashes.REJECT,
            EscapedSlashes.KEEP),
        new Row("http-retry-count", "7", s -> s.proxies().http().retries(), 3, 7),
        seconds("http-retry-timeout", HttpProxyContext::retryTimeout, 0),
        seconds("proxy-connect-timeout", HttpProxyContext::connectTimeout, 1),
        seconds("http-request-timeout", HttpProxyContext::requestTimeout, 3600),
        seconds("http-idle-timeout", HttpProxyContext::idleTimeout, 0),
        seconds("http-max-grpc-timeout", HttpProxyContext::grpcTimeout, 0),
        new Row("tofqdns-proxy-port", "5300", s -> s.proxies().dns().port(), 0, 5300),
        new Row(
            "tofqdns-dns-reject-response-code",
            "nameError",
            s -> s.proxies().dns().deniedCode(),
            REFUSED,
            NAME_ERROR));
  }

  private static Row seconds(
      String option, Function<HttpProxyContext, Duration> part, int defaultSec) {
    return new Row(
        option,
        "7s",
        s -> part.apply(s.proxies().http()),
        Duration.ofSeconds(defaultSec),
        Duration.ofSeconds(7));
  }

  @Test
  void shouldBoundTheConnectionsOfTheProxyByTheDescriptorsOfTheProcess() {
    assertEquals(
        DescriptorShares.of(ProcessAttributes.descriptorLimit()).http(),
        settings().proxies().http().descriptors());
  }

  /** A limit holds for one request, and for what is held. */
  private static List<Row> limitRows() {
    return List.of(
        new Row("max-policy-rules", "7", s -> s.policyLimits().rules(), 20_000L, 7L),
        new Row("max-policy-rules", "7", s -> s.bodyLimits().rules(), 20_000L, 7L),
        new Row("max-policy-peers", "7", s -> s.policyLimits().peers(), 100_000L, 7L),
        new Row("max-policy-peers", "7", s -> s.bodyLimits().peers(), 100_000L, 7L),
        new Row("max-policy-cidrs", "7", s -> s.policyLimits().cidrs(), 50_000L, 7L),
        new Row("max-policy-cidrs", "7", s -> s.bodyLimits().cidrs(), 50_000L, 7L),
        new Row("max-policy-labels", "7", s -> s.policyLimits().labels(), 100_000L, 7L),
        new Row("max-policy-labels", "7", s -> s.bodyLimits().labels(), 100_000L, 7L),
        new Row("max-policy-text", "7", s -> s.policyLimits().characters(), 48L << 20, 7L),
        new Row("max-prefixes", "7", s -> datapath(s).maxPrefixes(), 1_000_000, 7),
        new Row("max-prefixes", "7", s -> s.bodyLimits().prefixes(), 1_000_000L, 7L),
        new Row("max-service-backends", "7", s -> s.services().maxBackends(), 250_000, 7),
        new Row("max-labels", "7", s -> s.bodyLimits().entries(), 1_000L, 7L));
  }

  @Test
  void shouldConfigureItsPartWithTheValueOfEveryServedOption() {
    assertAll(rows().stream().map(row -> () -> assertReached(row)));
  }

  private static void assertReached(Row row) {
    final String what = "--" + row.option + "=" + row.argument;
    assertEquals(row.atDefault, row.part.apply(settings()), "without " + what);
    assertEquals(row.atArgument, row.part.apply(settings(what)), what);
  }

  @Test
  void shouldLetTheNodeInOnlyWhereTheOptionSaysAlways() {
    final String enforced = "--enable-policy=always";
    assertEquals(List.of(), entries(settings(enforced)));
    assertEquals(List.of(), entries(settings(enforced, "--allow-localhost=policy")));
    assertEquals(
        List.of(PolicyEntry.allowAll(1, PolicyDirection.INGRESS)),
        entries(settings(enforced, "--allow-localhost=always")));
  }

  @Test
  void shouldHaveARowForEveryServedOption() {
    final Set<String> covered = new HashSet<>(ELSEWHERE.keySet());
    rows().forEach(row -> covered.add(row.option));
    final Set<String> served = new HashSet<>();
    OptionTable.all().stream()
        .filter(AgentOption::served)
        .map(AgentOption::name)
        .forEach(served::add);
    assertEquals(served, covered);
  }

  /** Otherwise the row could not tell an option that is read from one that is not. */
  @Test
  void shouldTellEveryValueFromTheDefault() {
    rows().forEach(row -> assertNotEquals(row.atDefault, row.atArgument, row.option));
  }

  /** Otherwise the start would end after the parts before it have changed the node. */
  @Test
  void shouldTakeInEveryPartWhatTheTableTakes() {
    for (final AgentOption option : OptionTable.all()) {
      if (option.served() && Set.of(OptionType.INT, OptionType.DURATION).contains(option.type())) {
        final String name = "--" + option.name() + "=";
        for (final String edge : edges(option)) {
          assertDoesNotThrow(() -> configure(settings(name + edge)), name + edge);
        }
        for (final long beyond : new long[] {option.minimum() - 1, option.maximum() + 1}) {
          assertThrows(OptionException.class, () -> settings(name + beyond), name + beyond);
        }
      }
    }
  }

  private static List<String> edges(AgentOption option) {
    return option.choices().isEmpty()
        ? List.of(Long.toString(option.minimum()), Long.toString(option.maximum()))
        : option.choices();
  }

  private static void configure(Settings settings) {
    datapath(settings);
    settings.flows();
    settings.events();
    settings.mtu();
    settings.masquerade().rules(BOTH);
    settings.api(settings.events());
    settings.policy().identities(new LocalIdentityAllocator()).conclude();
    settings.names().context().conclude();
    final RedirectProxy redirect = unused(RedirectProxy.class);
    final RequestPolicies policies = unused(RequestPolicies.class);
    settings.proxies().http().redirect(redirect).policies(policies).conclude();
    final DnsProxyContext dns = settings.proxies().dns().redirect(redirect).policies(policies);
    dns.gate(unused(NameGate.class)).conclude();
  }

  private static <T> T unused(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (p, m, a) -> null));
  }

  /** A part that is used without the launcher, as in tests, behaves as the contract says. */
  @Test
  void shouldHaveTheSameDefaultsInTheContextsAsInTheOptionTable() {
    final DatapathContext given = datapath(settings());
    final DatapathContext plain = new DatapathContext();
    assertEquals(given.prefilterMode(), plain.prefilterMode());
    assertEquals(given.compileDebug(), plain.compileDebug());
    assertEquals(given.preallocates(), plain.preallocates());
    assertEquals(given.keepsSources(), plain.keepsSources());
    assertEquals(Map.of(), plain.devices());
    assertEquals(Map.of("eth7", 7), given.devices());
    assertNull(plain.prefilterDevice());
    assertTrue(plain.enableIpv4());
    assertTrue(plain.enableIpv6());
    assertEquals(TcMode.AUTO, given.tcMode());
    assertEquals(NodeOptions.DEFAULTS, settings().node());
    assertEquals(EndpointOptions.defaults(), settings().endpointOptions());
    final PolicyContext policy = new PolicyContext().identities(new LocalIdentityAllocator());
    assertEquals(engine(settings()).mode(), PolicyEngine.open(policy.conclude()).mode());
    final List<String> labels = List.of("app=web", "tier=front", "io.cri-o.uid=7");
    assertEquals(
        LabelFilter.defaults().split(LabelSet.parse("labels", labels)),
        settings().labelFilter().split(LabelSet.parse("labels", labels)));
  }

  @Test
  void shouldHaveTheDefaultsOfTheDatapathThatNoOptionSets() {
    final DatapathContext given = datapath(settings());
    assertEquals(9, given.worldIdentity4());
    assertEquals(10, given.worldIdentity6());
    final ConntrackLifetimes lifetimes = given.conntrackLifetimes();
    assertEquals(60, lifetimes.tcpSynSec());
    assertEquals(21_600, lifetimes.tcpEstablishedSec());
    assertEquals(10, lifetimes.tcpClosingSec());
    assertEquals(60, lifetimes.anySec());
  }

  /** Names, values and order of decisions.md, section 6. */
  @Test
  void shouldStartEndpointsWithTheDefaultsOfTheContract() {
    assertEquals(
        "{Conntrack=Enabled, ConntrackAccounting=Enabled, Debug=Disabled, DebugLB=Disabled,"
            + " DebugPolicy=Disabled, DropNotification=Enabled, TraceNotification=Enabled,"
            + " PolicyVerdictNotification=Enabled, MonitorAggregationLevel=None,"
            + " PolicyAuditMode=Disabled, SourceIPVerification=Enabled}",
        settings().endpointOptions().toMap().toString());
  }

  private static Settings settings(String... arguments) {
    return new Settings(OptionValues.read(List.of(arguments), Map.of()));
  }

  private static DatapathContext datapath(Settings settings) {
    return settings.datapath(
        new NodeContexts(BOTH, Map.of("eth7", 7), Map.of("eth7", OUTSIDE)),
        true,
        PrefilterStore.inMemory());
  }

  private static PolicyEngine engine(Settings settings) {
    return PolicyEngine.open(settings.policy().identities(new LocalIdentityAllocator()));
  }

  /** Returns the entries of an endpoint that no rule allows anything. */
  private static List<PolicyEntry> entries(Settings settings) {
    final LocalIdentityAllocator identities = new LocalIdentityAllocator();
    final Identity web = identities.acquire(LabelSet.parse("labels", List.of("app=web"))).join();
    final PolicyEngine engine = PolicyEngine.open(settings.policy().identities(identities));
    engine.endpointSet(1, web, List.of());
    return engine.policyOf(1).orElseThrow().entries();
  }

  private static String counting(LabelFilter filter) {
    final List<String> labels = new ArrayList<>();
    filter
        .split(LabelSet.parse("labels", List.of("any:app=web", "any:tier=front")))
        .identity()
        .forEach(label -> labels.add(label.toString()));
    return labels.toString();
  }

  private static String option(Settings settings, MutableOption option) {
    return settings.endpointOptions().toMap().get(option.optionName());
  }
}
