package agent.launcher.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.PrefilterList;
import agent.endpoint.DatapathConfiguration;
import agent.endpoint.EndpointAddressing;
import agent.endpoint.EndpointRecord;
import agent.endpoint.ExternalIdentifiers;
import agent.endpoint.WorkloadDescription;
import agent.ipam.Lease;
import agent.node.NodeRecord;
import agent.policy.PolicyState;
import agent.policy.spec.CidrSetSpec;
import agent.policy.spec.ExpressionSpec;
import agent.policy.spec.LabelSpec;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PortRuleSpec;
import agent.policy.spec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each store gives back what it was given, to the next agent. */
class DomainFilesTest {
  @TempDir private Path directory;

  @Test
  void shouldKeepLeases() {
    final List<Lease> leases =
        List.of(
            new Lease(IpAddress.parse("10.1.0.7"), "default", "", 12, null, null),
            new Lease(
                IpAddress.parse("fd00::7"),
                "other",
                "plugin",
                0,
                "5f0e-1",
                Instant.parse("2026-11-20T06:00:00.123456Z")));
    assertEquals(List.of(), LeaseFile.open(directory).load());
    LeaseFile.open(directory).save(leases);
    assertEquals(leases, LeaseFile.open(directory).load());
  }

  @Test
  void shouldKeepThePrefilterList() throws Exception {
    final PrefilterList list =
        new PrefilterList(7, List.of(Prefix.parse("192.0.2.0/24"), Prefix.parse("2001:db8::/32")));
    assertEquals(Optional.empty(), PrefilterFile.open(directory).load());
    PrefilterFile.open(directory).store(list);
    assertEquals(Optional.of(list), PrefilterFile.open(directory).load());
  }

  @Test
  void shouldKeepTheNodesRanges() {
    final NodeRecord node =
        new NodeRecord(Prefix.parse("10.1.0.0/16"), Prefix.parse("f00d::a00:1:0:0/96"));
    assertEquals(Optional.empty(), NodeFile.open(directory).load());
    NodeFile.open(directory).save(node);
    assertEquals(Optional.of(node), NodeFile.open(directory).load());
    NodeFile.open(directory).save(new NodeRecord(node.ipv4Range(), null));
    assertEquals(
        Optional.of(new NodeRecord(node.ipv4Range(), null)), NodeFile.open(directory).load());
  }

  @Test
  void shouldKeepRulesAsTheyWereWrittenWithWhatIsAbsentAndWhatIsEmpty() {
    final PolicyState state =
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
                            List.of(new PortRuleSpec(List.of(new PortSpec("80", 90, "TCP")), null)),
                            null,
                            null)),
                    null,
                    List.of(PeerRuleSpec.ALL),
                    List.of(),
                    List.of(new LabelSpec("name", "näher", "user")),
                    "one \"quoted\" line")),
            List.of(new PolicyState.CidrIdentity("10.0.0.0/8", 1 << 24)));
    assertEquals(Optional.empty(), PolicyFile.open(directory).load());
    PolicyFile.open(directory).save(state);
    assertEquals(Optional.of(state), PolicyFile.open(directory).load());
    PolicyFile.open(directory).setAside("rules[0]: is no rule");
    assertEquals(Optional.empty(), PolicyFile.open(directory).load());
    assertTrue(Files.exists(directory.resolve("policy/rules.json.corrupt-1")));
  }

  @Test
  void shouldLoseNoRuleWithEitherOfTheTwoFiles() throws Exception {
    final PolicyState state = new PolicyState(7, List.of(), List.of());
    final Path rules = directory.resolve("policy/rules.json");
    final Path copy = directory.resolve("policy/rules-copy.json");
    for (final Path damaged : List.of(rules, copy)) {
      PolicyFile.open(directory).save(state);
      final byte[] content = Files.readAllBytes(damaged);
      Files.write(damaged, Arrays.copyOf(content, content.length - 9));
      assertEquals(Optional.of(state), PolicyFile.open(directory).load());
      PolicyFile.open(directory).save(state);
      assertArrayEquals(content, Files.readAllBytes(damaged), "whole again");
    }
    assertTrue(Files.exists(directory.resolve("policy/rules.json.corrupt-1")));
    Files.delete(rules);
    assertEquals(Optional.of(state), PolicyFile.open(directory).load());
    assertTrue(Files.exists(rules));
  }

  @Test
  void shouldKeepEndpointsInFilesOfTheirOwn() throws Exception {
    final EndpointFiles files = EndpointFiles.open(directory);
    assertEquals(List.of(), files.load());
    files.save(endpoint(7));
    files.save(endpoint(12));
    assertEquals(
        Set.of(endpoint(7), endpoint(12)), Set.copyOf(EndpointFiles.open(directory).load()));
    files.remove(7);
    assertEquals(List.of(endpoint(12)), EndpointFiles.open(directory).load());
  }

  @Test
  void shouldLoseOnlyTheEndpointWhoseFileIsDamaged() throws Exception {
    final EndpointFiles files = EndpointFiles.open(directory);
    files.save(endpoint(7));
    files.save(endpoint(12));
    files.save(endpoint(13));
    final Path damaged = directory.resolve("endpoints/12.json");
    Files.writeString(damaged, Files.readString(damaged).replace("demo", "dem0"));
    Files.copy(directory.resolve("endpoints/13.json"), directory.resolve("endpoints/14.json"));
    assertEquals(
        Set.of(endpoint(7), endpoint(13)), Set.copyOf(EndpointFiles.open(directory).load()));
    assertTrue(Files.exists(directory.resolve("endpoints/12.json.corrupt-1")));
    assertTrue(Files.exists(directory.resolve("endpoints/14.json.corrupt-1")));
  }

  /** The names on disk are a format: what an agent wrote, the next one has to read. */
  @Test
  void shouldWriteEndpointsUnderTheseNames() throws Exception {
    EndpointFiles.open(directory).save(endpoint(7));
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
        "properties":"{}"}}""",
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
        "wl0",
        3,
        MacAddress.parse("02:00:00:00:00:01"),
        MacAddress.parse("02:00:00:00:00:02"),
        List.of("app=a"),
        List.of(),
        Map.of("Debug", "Disabled"),
        new DatapathConfiguration(null, true, null, null, null, null),
        new WorkloadDescription(null, 42, null, null, "{}"));
  }

  @Test
  void shouldSetAsideAWholeFileThatSaysNothingSensible() {
    final StateFolder folder = StateFolder.open(directory.resolve("prefilter"), "prefilter");
    folder.write("list", Map.of("revision", 3, "deny", List.of("192.0.2.0/99")));
    assertEquals(Optional.empty(), PrefilterFile.open(directory).load());
    assertTrue(Files.exists(directory.resolve("prefilter/list.json.corrupt-1")));
  }
}
