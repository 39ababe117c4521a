package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.endpoint.DaemonConfiguration;
import agent.endpoint.PolicyService;
import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MutableOption;
import agent.launcher.options.OptionValues;
import agent.node.FamilyAddressing;
import agent.node.HostRouting;
import agent.node.NodeAddressing;
import agent.node.NodeInventory;
import agent.node.NodeInventory.SegmentSizes;
import agent.node.netfilter.MasqueradeGuard;
import agent.policy.PolicyChange;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicySnapshot;
import agent.policy.resolve.EnforcementMode;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What GET /config shows: what is in force beside what was asked for. */
class ConfigurationViewTest {
  private static final RuntimeOptions REALIZED =
      new RuntimeOptions(EndpointOptions.defaults(), false, EnforcementMode.DEFAULT);
  private static final RuntimeOptions WANTED =
      new RuntimeOptions(
          EndpointOptions.defaults().with(MutableOption.CONNTRACK, MutableOption.DISABLED),
          true,
          EnforcementMode.ALWAYS);

  private static final FamilyAddressing IPV4 =
      FamilyAddressing.of(IpAddress.parse("192.0.2.1"), Prefix.parse("10.5.0.0/24"));

  private RuntimeOptions realized = REALIZED;
  private FamilyAddressing ipv6 = FamilyAddressing.DISABLED;
  private SegmentSizes segments = new SegmentSizes(1, 2, 3, 4);

  /** Asked for more than is in force yet. */
  private final class Configuration implements DaemonConfiguration {
    @Override
    public RuntimeOptions wanted() {
      return WANTED;
    }

    @Override
    public RuntimeOptions realized() {
      return realized;
    }

    @Override
    public CompletableFuture<Void> change(Map<String, String> options, String enforcement) {
      throw new UnsupportedOperationException();
    }
  }

  /** A policy that is never enforced. */
  private static final class Never implements PolicyService {
    @Override
    public CompletableFuture<Void> names(Map<String, ? extends Collection<IpAddress>> changed) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> services(
        Map<ServiceName, ? extends Collection<IpAddress>> changed) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Set<String> wantedNames() {
      throw new UnsupportedOperationException();
    }

    @Override
    public EnforcementMode mode() {
      return EnforcementMode.NEVER;
    }

    @Override
    public CompletableFuture<PolicySnapshot> change(PolicyChange change) {
      throw new UnsupportedOperationException();
    }

    @Override
    public PolicySnapshot get(List<String> labels) {
      throw new UnsupportedOperationException();
    }

    @Override
    public PolicyTrace trace(PolicyQuery query) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<SelectorListing> selectors() {
      throw new UnsupportedOperationException();
    }
  }

  private DaemonConfigurationModel model(String... options) {
    return view(options).model(parts(MasqueradeGuard.Mode.DISABLED), Map.of("seen", 7L));
  }

  private static ConfigurationView view(String... options) {
    return new ConfigurationView(
        OptionValues.read(List.of(options), Map.of()), Map.of("state-dir", "/var/x"), "node-1");
  }

  private StartedParts parts(MasqueradeGuard.Mode masquerading) {
    return new StartedParts(
        new NodeAddressing(IPV4, ipv6),
        () -> new NodeInventory(List.of("eth0", "eth1"), List.of(), 1450, 1430, segments),
        null,
        () -> new HostRouting(HostRouting.Mode.LEGACY, "netfilter", false),
        () -> masquerading,
        null,
        null,
        null,
        null,
        new Never(),
        null,
        null,
        null,
        new Configuration(),
        List.of());
  }

  @Test
  void shouldSayWhatIsMasquerading() {
    final DaemonStatusModel.Masquerading on = view().masquerading(parts(MasqueradeGuard.Mode.BPF));
    assertTrue(on.enabled());
    assertEquals("BPF", on.mode());
    assertTrue(on.enabledProtocols().ipv4());
    assertFalse(on.enabledProtocols().ipv6(), "the family is off");
    assertEquals("10.5.0.0/24", on.snatExclusionCidrV4());
    assertNull(on.snatExclusionCidrV6());
    assertEquals(
        "10.0.0.0/8",
        view("--ipv4-native-routing-cidr=10.7.0.0/8")
            .masquerading(parts(MasqueradeGuard.Mode.BPF))
            .snatExclusionCidrV4());
    final DaemonStatusModel.Masquerading off =
        view().masquerading(parts(MasqueradeGuard.Mode.DISABLED));
    assertFalse(off.enabled());
    assertEquals("Disabled", off.mode());
    assertFalse(off.enabledProtocols().ipv4());
    assertNull(off.snatExclusionCidrV4());
    assertFalse(model().status().masquerade());
  }

  @Test
  void shouldShowTheRulesThatMasquerade() {
    for (final MasqueradeGuard.Mode rules :
        List.of(MasqueradeGuard.Mode.NFTABLES, MasqueradeGuard.Mode.IPTABLES)) {
      assertEquals(rules.text(), view().masquerading(parts(rules)).mode());
      assertTrue(view().model(parts(rules), Map.of()).status().masquerade());
      assertTrue(isShown(rules, "install-iptables-rules"));
      assertTrue(isShown(rules, "prepend-iptables-chains"));
      assertFalse(isShown(rules, "prepend-iptables-chains", "--prepend-iptables-chains=false"));
    }
    for (final MasqueradeGuard.Mode none :
        List.of(MasqueradeGuard.Mode.BPF, MasqueradeGuard.Mode.DISABLED)) {
      assertFalse(isShown(none, "install-iptables-rules"));
      assertFalse(isShown(none, "prepend-iptables-chains"));
    }
  }

  private boolean isShown(MasqueradeGuard.Mode mode, String option, String... options) {
    final var status = view(options).model(parts(mode), Map.of()).status();
    return (boolean) status.daemonConfigurationMap().get(option);
  }

  private Map<String, Object> effective(String... options) {
    return model(options).status().daemonConfigurationMap();
  }

  @Test
  void shouldShowWhatWasAskedForAndWhatIsInForce() {
    final DaemonConfigurationModel model = model();
    assertEquals(WANTED.toMap(), model.spec().options());
    assertEquals("always", model.spec().policyEnforcement());
    assertEquals(REALIZED.toMap(), model.status().realized().options());
    assertEquals("never", model.status().realized().policyEnforcement());
  }

  @Test
  void shouldShowWhatTheNodeHas() {
    final DaemonConfigurationModel.Status status = model().status();
    assertEquals(1450, status.deviceMTU());
    assertEquals(1430, status.routeMTU());
    assertEquals(Map.of("seen", 7L), status.nodeMonitor());
    assertEquals("10.5.0.0/24", status.addressing().ipv4().allocRange());
    assertEquals(
        List.of(1, 2, 3, 4),
        List.of(
            status.groMaxSize(),
            status.gsoMaxSize(),
            status.groIPv4MaxSize(),
            status.gsoIPv4MaxSize()));
    segments = null;
    final DaemonConfigurationModel.Status without = model().status();
    assertNull(without.groMaxSize());
    assertNull(without.gsoMaxSize());
    assertNull(without.groIPv4MaxSize());
    assertNull(without.gsoIPv4MaxSize());
  }

  @Test
  void shouldShowTheOptionsThatTheDaemonHasChosen() {
    final Map<String, Object> chosen = effective("--mtu=0", "--cluster-name=blue");
    assertEquals("/var/x", chosen.get("state-dir"));
    assertEquals("blue", chosen.get("cluster-name"));
    assertEquals("192.0.2.1", chosen.get("ipv4-node"));
    assertEquals("10.5.0.0/24", chosen.get("ipv4-range"));
    assertEquals("not enabled", chosen.get("ipv6-node"));
    assertEquals("not enabled", chosen.get("ipv6-range"));
    assertEquals("eth0,eth1", chosen.get("device"));
    assertEquals(1450L, chosen.get("mtu"));
    assertEquals("legacy", chosen.get("host-routing"));
  }

  @Test
  void shouldShowWhatIsOffAsOff() {
    for (final String device : List.of("", "undefined")) {
      final Map<String, Object> off = effective("--prefilter-device=" + device);
      assertEquals("undefined", off.get("prefilter-device"));
      assertEquals("not enabled", off.get("prefilter-mode"));
    }
    final Map<String, Object> on = effective("--prefilter-device=eth1");
    assertEquals("eth1", on.get("prefilter-device"));
    assertEquals("native", on.get("prefilter-mode"));
    assertEquals("policy", effective("--allow-localhost=auto").get("allow-localhost"));
    assertEquals("always", effective("--allow-localhost=always").get("allow-localhost"));
  }

  /** What PATCH /config has changed, not what the daemon was started with. */
  @Test
  void shouldShowTheValuesOfWhatCanChange() {
    final Map<String, Object> before = effective("--disable-conntrack", "--enable-tracing");
    assertEquals("never", before.get("enable-policy"));
    assertEquals(false, before.get("disable-conntrack"));
    assertEquals(false, before.get("enable-tracing"));
    realized = WANTED;
    final Map<String, Object> after = effective();
    assertEquals(true, after.get("disable-conntrack"));
    assertEquals(true, after.get("enable-tracing"));
    final Map<String, String> immutable = model().status().immutable();
    assertTrue(immutable.containsKey("state-dir"));
    for (final String changeable :
        List.of("enable-policy", "disable-conntrack", "monitor-aggregation", "enable-tracing")) {
      assertFalse(immutable.containsKey(changeable), changeable);
    }
  }

  /** Each value of a family is another one than that of the other. */
  @Test
  void shouldShowEachFamilyByItself() {
    ipv6 = FamilyAddressing.of(IpAddress.parse("2001:db8::1"), Prefix.parse("f00d::/96"));
    final ConfigurationView view =
        view("--ipv4-native-routing-cidr=10.7.0.0/16", "--ipv6-native-routing-cidr=f00d::/64");
    final StartedParts parts = parts(MasqueradeGuard.Mode.BPF);
    final DaemonStatusModel.Masquerading masquerading = view.masquerading(parts);
    assertEquals("10.7.0.0/16", masquerading.snatExclusionCidrV4());
    assertEquals("f00d::/64", masquerading.snatExclusionCidrV6());
    final DaemonConfigurationModel.Status status = view.model(parts, Map.of()).status();
    final Map<String, Object> values = status.daemonConfigurationMap();
    for (final Map.Entry<String, String> each :
        Map.of(
                "ipv4-node", "192.0.2.1",
                "ipv6-node", "2001:db8::1",
                "ipv4-range", "10.5.0.0/24",
                "ipv6-range", "f00d::/96",
                "ipv4-native-routing-cidr", "10.7.0.0/16",
                "ipv6-native-routing-cidr", "f00d::/64")
            .entrySet()) {
      assertEquals(each.getValue(), values.get(each.getKey()), each.getKey());
    }
    assertEquals("2001:db8::1", status.addressing().ipv6().ip());
    assertEquals("f00d::/96", status.addressing().ipv6().allocRange());
    final var automatic = view().model(parts, Map.of()).status().daemonConfigurationMap();
    assertEquals("10.5.0.0/24", automatic.get("ipv4-native-routing-cidr"));
    assertEquals("f00d::/96", automatic.get("ipv6-native-routing-cidr"));
  }

  @Test
  void shouldShowWhatThisVersionHasOneOf() {
    final DaemonConfigurationModel.Status status = model().status();
    assertEquals("veth", status.datapathMode());
    assertEquals("embedded", status.ipamMode());
    assertEquals("", status.ipLocalReservedPorts());
    assertNull(status.orchConfiguration());
    assertNull(status.orchEndpoint());
  }
}
