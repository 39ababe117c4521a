package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.datapath.spec.PrefilterList;
import agent.endpoint.config.RuntimeOptionsStore.ChangedValue;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointStore;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.WorkloadDescription;
import agent.ipam.Lease;
import agent.node.NodeStore.NodeRecord;
import agent.policy.repository.PolicyState;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.UnreadableStateException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Tests that stored documents are available to the next run of the agent. */
class DomainFilesTest {
  private static final RequestRuleSpec HTTP =
      new RequestRuleSpec(
          List.of(
              new HttpSpec(
                  "GET",
                  "/a",
                  "h",
                  List.of("X-A: 1"),
                  List.of(
                      new HeaderMatchSpec("X-B", "2", "ADD"),
                      new HeaderMatchSpec("X-C", null, null))),
              new HttpSpec(null, null, null, null, null)),
          null);
  private static final RequestRuleSpec DNS =
      new RequestRuleSpec(null, List.of(new FqdnSpec("a.b", null), new FqdnSpec(null, "*.b")));

  @TempDir private Path directory;
  private AgentState state;

  @BeforeEach
  void open() {
    state = AgentState.open(directory);
  }

  @AfterEach
  void close() {
    state.close();
  }

  /** Ends the run and starts the next one. */
  private AgentState reopened() {
    state.close();
    state = AgentState.open(directory);
    return state;
  }

  @Test
  void shouldKeepLeases() {
    final List<Lease> leases =
        List.of(
            new Lease(IpAddress.parse("10.1.0.7"), "default", "", 65_535, null, null),
            new Lease(
                IpAddress.parse("fd00::7"),
                "other",
                "plugin",
                0,
                "5f0e-1",
                Instant.parse("2026-11-20T06:00:00.123456Z")));
    assertEquals(List.of(), state.leaseStore().load());
    state.leaseStore().save(leases);
    assertEquals(leases, reopened().leaseStore().load());
  }

  @Test
  void shouldKeepThePrefilterList() throws Exception {
    final PrefilterList list =
        new PrefilterList(7, List.of(Prefix.parse("192.0.2.0/24"), Prefix.parse("2001:db8::/32")));
    assertEquals(Optional.empty(), state.prefilterStore().load());
    state.prefilterStore().store(list);
    assertEquals(Optional.of(list), reopened().prefilterStore().load());
  }

  @Test
  void shouldKeepTheChangesOfTheConfigurationAndHealADamagedFileByTheNextChange() throws Exception {
    final List<ChangedValue> changes =
        List.of(
            new ChangedValue("Debug", "Enabled", "Disabled"),
            new ChangedValue("policy-enforcement", "always", "default"));
    assertEquals(List.of(), state.configurationStore().load());
    state.configurationStore().save(changes);
    assertEquals(
        "{\"changes\":[{\"name\":\"Debug\",\"value\":\"Enabled\",\"startValue\":\"Disabled\"},"
            + "{\"name\":\"policy-enforcement\",\"value\":\"always\","
            + "\"startValue\":\"default\"}]}",
        Files.readAllLines(directory.resolve("configuration/daemon.json")).get(1));
    assertEquals(changes, reopened().configurationStore().load());
    Files.writeString(directory.resolve("configuration/daemon.json"), "damaged");
    assertThrows(UnreadableStateException.class, reopened().configurationStore()::load);
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    state.configurationStore().save(changes);
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
    assertEquals(changes, reopened().configurationStore().load());
  }

  /** The member is there for as long as it says something: former releases do not read it. */
  @Test
  void shouldKeepThatAnOptionIsBeingSetOnAllEndpoints() throws Exception {
    final List<ChangedValue> changes =
        List.of(
            new ChangedValue("Debug", "Enabled", "Disabled", true),
            new ChangedValue("Conntrack", "Disabled", "Enabled", false));
    state.configurationStore().save(changes);
    assertEquals(
        "{\"changes\":[{\"name\":\"Debug\",\"value\":\"Enabled\",\"startValue\":\"Disabled\","
            + "\"isBeingSet\":true},"
            + "{\"name\":\"Conntrack\",\"value\":\"Disabled\",\"startValue\":\"Enabled\"}]}",
        Files.readAllLines(directory.resolve("configuration/daemon.json")).get(1));
    assertEquals(changes, reopened().configurationStore().load());
  }

  @Test
  void shouldKeepTheNodesRanges() {
    final NodeRecord node =
        new NodeRecord(Prefix.parse("10.1.0.0/16"), Prefix.parse("f00d::a00:1:0:0/96"));
    assertEquals(Optional.empty(), state.nodeStore().load());
    state.nodeStore().save(node);
    assertEquals(Optional.of(node), reopened().nodeStore().load());
    state.nodeStore().save(new NodeRecord(node.ipv4Range(), null));
    assertEquals(
        Optional.of(new NodeRecord(node.ipv4Range(), null)), reopened().nodeStore().load());
  }

  @Test
  void shouldKeepRulesAsTheyWereWrittenWithWhatIsAbsentAndWhatIsEmpty() {
    final PolicyState rules =
        new PolicyState(
            41,
            List.of(
                new RuleSpec(
                    new SelectorSpec(
                        Map.of("app", "backend"),
                        List.of(new ExpressionSpec("tier", "In", List.of("a", "b")))),
                    List.of(
                        new PeerRuleSpec(
                            List.of(SelectorSpec.ALL),
                            null,
                            List.of(),
                            List.of(new CidrSetSpec("10.0.0.0/8", List.of("10.1.0.0/16"))),
                            List.of("world"),
                            List.of(
                                new PortRuleSpec(List.of(new PortSpec("80", 90, "TCP")), null),
                                new PortRuleSpec(
                                    List.of(new PortSpec("80", null, "TCP")), null, HTTP),
                                new PortRuleSpec(
                                    List.of(new PortSpec("53", null, null)), null, DNS)),
                            null,
                            null,
                            null,
                            null),
                        new PeerRuleSpec(
                            null,
                            null,
                            null,
                            null,
                            null,
                            List.of(
                                new PortRuleSpec(List.of(new PortSpec(null, null, "VRRP")), null)),
                            List.of(
                                new IcmpRuleSpec(
                                    List.of(
                                        new IcmpFieldSpec(null, "EchoRequest"),
                                        new IcmpFieldSpec("IPv6", "128")))),
                            null,
                            null,
                            null)),
                    null,
                    List.of(PeerRuleSpec.ALL),
                    List.of(),
                    List.of(new LabelSpec("name", "näher", "user")),
                    "one \"quoted\" line")),
            List.of(new PolicyState.CidrIdentity("10.0.0.0/8", 1 << 24)));
    assertEquals(Optional.empty(), state.policyStore().load(any -> {}));
    state.policyStore().save(rules);
    assertEquals(Optional.of(rules), reopened().policyStore().load(any -> {}));
  }

  @Test
  void shouldKeepEndpointsInFilesOfTheirOwn() throws Exception {
    final EndpointStore files = state.endpointStore();
    assertEquals(List.of(), files.load());
    files.save(endpoint(7));
    files.save(endpoint(12));
    assertEquals(Set.of(endpoint(7), endpoint(12)), Set.copyOf(reopened().endpointStore().load()));
    state.endpointStore().remove(7);
    assertEquals(List.of(endpoint(12)), reopened().endpointStore().load());
  }

  @Test
  void shouldNameTheEndpointsWhoseFilesCannotBeUsedUntilTheyAreRemoved() throws Exception {
    final EndpointStore files = state.endpointStore();
    files.save(endpoint(7));
    files.save(endpoint(12));
    files.save(endpoint(13));
    final Path damaged = directory.resolve("endpoints/12.json");
    Files.writeString(damaged, Files.readString(damaged).replace("demo", "dem0"));
    Files.copy(directory.resolve("endpoints/13.json"), directory.resolve("endpoints/14.json"));
    Files.createDirectories(directory.resolve("endpoints/15.json/in it"));
    Files.writeString(directory.resolve("endpoints/notes.json"), "of a person");
    for (int start = 0; start < 2; start++) {
      final EndpointStore after = reopened().endpointStore();
      assertEquals(Set.of(endpoint(7), endpoint(13)), Set.copyOf(after.load()));
      assertEquals(Set.of(12, 14, 15), after.unreadable().keySet());
      assertTrue(after.unreadable().get(12).contains(damaged.toString()));
      assertTrue(after.unreadable().get(14).contains("it holds endpoint 13"));
    }
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    final EndpointStore last = state.endpointStore();
    last.load();
    for (final int id : List.of(12, 14, 15)) {
      last.remove(id);
    }
    assertEquals(Map.of(), last.unreadable());
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
    assertEquals(Map.of(), loadedAgain().unreadable());
    assertTrue(Files.isDirectory(directory.resolve("endpoints/15.json.corrupt-1/in it")));
  }

  @Test
  void shouldReadOnlyFilesWhoseNamesAreIdsOfEndpoints() throws Exception {
    final Path folder = directory.resolve("endpoints");
    state.endpointStore().save(endpoint(1));
    state.endpointStore().save(endpoint(65_535));
    for (final String name : List.of("0", "65536", "007", "+7", "-7", "x")) {
      Files.copy(folder.resolve("1.json"), folder.resolve(name + ".json"));
    }
    final EndpointStore store = state.endpointStore();
    assertEquals(Set.of(endpoint(1), endpoint(65_535)), Set.copyOf(store.load()));
    assertEquals(Map.of(), store.unreadable());
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
  }

  private EndpointStore loadedAgain() {
    final EndpointStore store = reopened().endpointStore();
    store.load();
    return store;
  }

  /** File and member names are a stable format: later releases must read them. */
  @Test
  void shouldWriteEndpointsUnderTheseNames() throws Exception {
    state.endpointStore().save(endpoint(7));
    assertEquals(
        """
        {"id":7,"identity":256,"addressing":{"ipv4":"10.1.0.7","ipv4ExpirationUuid":null,\
        "ipv4PoolName":"default","ipv6":"fd00::7","ipv6ExpirationUuid":null,\
        "ipv6PoolName":"default"},"externalIdentifiers":{"containerId":"demo",\
        "containerName":null,"containerInterfaceName":"eth0","runtimeEndpointId":null,\
        "runtimeNetworkId":null,"namespace":null,"podName":null,"podUid":null,\
        "legacyDisabled":false},"interfaceName":"wl0","interfaceIndex":3,\
        "mac":"02:00:00:00:00:01","hostMac":"02:00:00:00:00:02","labels":["app=a"],\
        "userLabels":[],"options":{"Debug":"Disabled"},"datapathConfiguration":\
        {"disableSourceVerification":null,"externalIpam":true,"installEndpointRoute":null,\
        "requireArpPassthrough":null,"requireEgressProgram":null,"requireRouting":null},\
        "workload":{"netnsCookie":null,"pid":42,"datapathMapId":null,"policyEnabled":null,\
        "properties":"{}"}}\
        """,
        Files.readAllLines(directory.resolve("endpoints/7.json")).get(1));
  }

  private static EndpointRecord endpoint(int id) {
    return new EndpointRecord(
        id,
        256,
        new EndpointAddressing(
            IpAddress.parse("10.1.0.7"),
            null,
            "default",
            IpAddress.parse("fd00::7"),
            null,
            "default"),
        new ExternalIdentifiers("demo", null, "eth0", null, null, null, null, null, false),
        new EndpointDevice(
            "wl0", 3, MacAddress.parse("02:00:00:00:00:01"), MacAddress.parse("02:00:00:00:00:02")),
        new EndpointRecord.LabelSources(List.of("app=a"), List.of()),
        new EndpointRecord.Configuration(
            Map.of("Debug", "Disabled"),
            new DatapathConfiguration(null, true, null, null, null, null)),
        new WorkloadDescription(null, 42, null, null, "{}"),
        List.of(),
        EntrySource.API);
  }

  @Test
  void shouldNotReadAWholeFileThatHoldsAValueOutOfRange() throws Exception {
    write("prefilter", "prefilter/list.json", "{\"revision\":3,\"deny\":[\"192.0.2.0/99\"]}");
    write("node", "node/node.json", "{}");
    write("leases", "ipam/leases.json", "{}");
    for (int start = 0; start < 2; start++) {
      assertUnreadable("prefilter/list.json", () -> state.prefilterStore().load());
      assertUnreadable("node/node.json", () -> state.nodeStore().load());
      assertUnreadable("ipam/leases.json", () -> state.leaseStore().load());
      reopened();
    }
  }

  @Test
  void shouldNotReadLeasesAndRangesThatContradictThemselves() throws Exception {
    final String lease =
        "{\"address\":\"10.1.0.7\",\"pool\":\"default\",\"owner\":\"\",\"endpointId\":%d,"
            + "\"expirationUuid\":null,\"expiresAt\":null}";
    for (final String leases :
        List.of(
            lease.formatted(1) + "," + lease.formatted(2),
            lease.formatted(-1),
            lease.formatted(65536))) {
      write("leases", "ipam/leases.json", "{\"leases\":[" + leases + "]}");
      assertUnreadable("ipam/leases.json", () -> state.leaseStore().load());
    }
    write("node", "node/node.json", "{\"ipv4Range\":\"fd00::/96\",\"ipv6Range\":null}");
    assertUnreadable("node/node.json", () -> state.nodeStore().load());
    write("prefilter", "prefilter/list.json", "{\"revision\":0,\"deny\":[]}");
    assertUnreadable("prefilter/list.json", () -> state.prefilterStore().load());
  }

  @Test
  void shouldBeUnhealthyWhileAFileCannotBeRead() throws Exception {
    Files.writeString(directory.resolve("ipam/leases.json"), "damaged");
    assertThrows(UnreadableStateException.class, () -> state.leaseStore().load());
    assertFault("ipam: the leases in ");
    Files.delete(directory.resolve("ipam/leases.json"));
    Files.writeString(directory.resolve("prefilter/list.json"), "damaged");
    assertThrows(UnreadableStateException.class, () -> reopened().prefilterStore().load());
    assertFault("prefilter: the list in ");
  }

  private void assertFault(String start) {
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    final String message = state.faults().read().message();
    assertTrue(message.startsWith(start + directory), message);
  }

  private void assertUnreadable(String file, Executable load) {
    final String message = assertThrows(UnreadableStateException.class, load).getMessage();
    assertTrue(message.contains(directory.resolve(file) + " cannot be read ("), message);
  }

  private void write(String kind, String name, String document) throws Exception {
    try (FileChannel file =
        FileChannel.open(
            directory.resolve(name),
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      file.write(StateFile.encode(kind, List.of(StandardCharsets.UTF_8.encode(document))));
    }
  }

  @Test
  void shouldDiscardAllButTheNodesRanges() throws Exception {
    final NodeRecord node = new NodeRecord(Prefix.parse("10.1.0.0/16"), null);
    state.endpointStore().save(endpoint(7));
    state.policyStore().save(new PolicyState(7, List.of(), List.of()));
    state
        .leaseStore()
        .save(List.of(new Lease(IpAddress.parse("10.1.0.7"), "a", "", 7, null, null)));
    state.nodeStore().save(node);
    state.prefilterStore().store(new PrefilterList(3, List.of(Prefix.parse("192.0.2.0/24"))));
    reopened().discard();
    assertEquals(List.of(), state.endpointStore().load());
    assertEquals(Optional.empty(), state.policyStore().load(any -> {}));
    assertEquals(List.of(), state.leaseStore().load());
    assertEquals(Optional.empty(), state.prefilterStore().load());
    assertEquals(Optional.of(node), state.nodeStore().load());
  }

  @Test
  void shouldHoldTheDirectoryUntilItIsClosed() {
    assertThrows(IllegalStateException.class, () -> AgentState.open(directory));
    reopened();
  }

  @Test
  void shouldNotHoldADirectoryThatItCannotOpen() throws Exception {
    state.close();
    final Path node = directory.resolve("node");
    Files.delete(node);
    Files.writeString(node, "");
    final OperationException failure =
        assertThrows(OperationException.class, () -> AgentState.open(directory));
    assertEquals(
        "state folder " + node + " cannot be created: a file is in its place",
        failure.getMessage());
    Files.delete(node);
    state = AgentState.open(directory);
  }
}
