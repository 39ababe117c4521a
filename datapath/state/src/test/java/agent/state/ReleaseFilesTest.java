package agent.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.spec.PrefilterList;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointDevice;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.WorkloadDescription;
import agent.ipam.Lease;
import agent.node.NodeStore.NodeRecord;
import agent.policy.repository.PolicyState;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads files that release 0.1.0 wrote and writes them again byte for byte. */
class ReleaseFilesTest {
  @TempDir private Path root;
  private ReleaseFiles release;
  private Path read;
  private Path written;

  @BeforeEach
  void copyFiles() throws IOException {
    release = ReleaseFiles.of("0.1.0");
    read = root.resolve("read");
    written = root.resolve("written");
    release.copyTo(read);
  }

  @Test
  void shouldWriteTheSameBytesAgain() throws Exception {
    try (AgentState from = AgentState.open(read);
        AgentState to = AgentState.open(written)) {
      from.endpointStore().load().forEach(to.endpointStore()::save);
      to.policyStore().save(from.policyStore().load(any -> {}).orElseThrow());
      to.leaseStore().save(from.leaseStore().load());
      to.nodeStore().save(from.nodeStore().load().orElseThrow());
      to.prefilterStore().store(from.prefilterStore().load().orElseThrow());
    }
    for (final String file : release.names()) {
      assertEquals(
          Files.readString(read.resolve(file)), Files.readString(written.resolve(file)), file);
      assertArrayEquals(
          Files.readAllBytes(read.resolve(file)), Files.readAllBytes(written.resolve(file)), file);
    }
  }

  @Test
  void shouldReadEndpoints() {
    final Map<String, String> options = new LinkedHashMap<>();
    options.put("Debug", "Enabled");
    options.put("MonitorAggregationLevel", "Low");
    final EndpointRecord all =
        new EndpointRecord(
            65535,
            65535,
            new EndpointAddressing(
                IpAddress.parse("192.0.2.9"),
                "5f0e-1",
                "other",
                IpAddress.parse("2001:db8::ffff:1"),
                "5f0e-2",
                "six"),
            new ExternalIdentifiers(
                "id", "näher \"x\" \\ /", "eth1", "re", "rn", "ns", "pod", "uid-1", true),
            new EndpointDevice(
                "a.b-c_d",
                Integer.MAX_VALUE,
                MacAddress.parse("fe:ff:ff:ff:ff:ff"),
                MacAddress.parse("02:ab:cd:ef:00:02")),
            new EndpointRecord.LabelSources(List.of("k8s:app=a", "unspec:b"), List.of("user:c=d")),
            new EndpointRecord.Configuration(
                options, new DatapathConfiguration(true, false, true, false, true, false)),
            new WorkloadDescription(
                "4711",
                42,
                -1,
                true,
                "{\"a\":[1,\"\\n\"],\t\"e\":\"\u001b\u007f\u2028\ud83d\ude00\ud800\"}"),
            List.of(),
            EntrySource.API);
    final EndpointRecord few =
        new EndpointRecord(
            7,
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
                "wl0",
                3,
                MacAddress.parse("02:00:00:00:00:01"),
                MacAddress.parse("02:00:00:00:00:02")),
            new EndpointRecord.LabelSources(List.of("app=a"), List.of()),
            new EndpointRecord.Configuration(
                EndpointOptions.defaults().toMap(), DatapathConfiguration.DEFAULT),
            new WorkloadDescription(null, null, null, null, null),
            List.of(),
            EntrySource.API);
    try (AgentState state = AgentState.open(read)) {
      assertEquals(List.of(all, few), state.endpointStore().load());
    }
  }

  @Test
  void shouldReadLeases() {
    final List<Lease> leases =
        List.of(
            new Lease(IpAddress.parse("10.1.0.7"), "default", "", 12, null, null),
            new Lease(
                IpAddress.parse("fd00::7"),
                "other",
                "plugin \u0001",
                0,
                "5f0e-1",
                Instant.parse("2026-11-20T06:00:00.123456Z")),
            new Lease(
                IpAddress.parse("::ffff:1.2.3.4"),
                "other",
                "x",
                0,
                "5f0e-2",
                Instant.parse("2026-11-20T06:10:00Z")));
    try (AgentState state = AgentState.open(read)) {
      assertEquals(leases, state.leaseStore().load());
    }
  }

  @Test
  void shouldReadTheNodesRangesAndThePrefilterList() throws Exception {
    final PrefilterList list =
        new PrefilterList(
            9007199254740993L,
            List.of(
                Prefix.ALL_IPV4,
                Prefix.parse("192.0.2.0/24"),
                Prefix.parse("2001:db8::/32"),
                Prefix.parse("2001:db8::1/128")));
    try (AgentState state = AgentState.open(read)) {
      assertEquals(
          Optional.of(new NodeRecord(Prefix.parse("10.1.0.0/16"), null)), state.nodeStore().load());
      assertEquals(Optional.of(list), state.prefilterStore().load());
    }
  }

  @Test
  void shouldReadRules() {
    final PolicyState rules =
        new PolicyState(
            41,
            List.of(selectorsAndPorts(), cidrsEntitiesAndIcmp()),
            List.of(
                new PolicyState.CidrIdentity("10.0.0.0/8", 1 << 24),
                new PolicyState.CidrIdentity("::/0", (1 << 24) + 1)));
    try (AgentState state = AgentState.open(read)) {
      assertEquals(Optional.of(rules), state.policyStore().load(any -> {}));
    }
  }

  private static RuleSpec selectorsAndPorts() {
    final PeerRuleSpec peersAndPorts =
        new PeerRuleSpec(
            List.of(
                SelectorSpec.ALL, new SelectorSpec(Map.of("any:x", "", "app", "näher"), List.of())),
            List.of(new SelectorSpec(null, List.of(new ExpressionSpec("env", "Exists", null)))),
            null,
            List.of(),
            null,
            List.of(
                new PortRuleSpec(
                    List.of(new PortSpec("80", 90, "TCP"), new PortSpec("0", null, null)), null),
                new PortRuleSpec(List.of(new PortSpec("53", null, "udp")), List.of())),
            null,
            null,
            null,
            null);
    return new RuleSpec(
        new SelectorSpec(
            Map.of("app", "backend"),
            List.of(
                new ExpressionSpec("tier", "In", List.of("a", "b")),
                new ExpressionSpec("z", "DoesNotExist", List.of()))),
        List.of(peersAndPorts, PeerRuleSpec.NO_PEER),
        null,
        List.of(
            new PeerRuleSpec(
                null,
                null,
                List.of("10.0.0.0/8", "::/0"),
                null,
                null,
                null,
                null,
                List.of(),
                null,
                null)),
        List.of(),
        List.of(new LabelSpec("name", "näher", "user"), new LabelSpec("k", null, null)),
        "one \"quoted\" line\n\u001f\u007f \ud83d\ude00 \udc00 \\u001f");
  }

  private static RuleSpec cidrsEntitiesAndIcmp() {
    return new RuleSpec(
        SelectorSpec.ALL,
        null,
        List.of(
            new PeerRuleSpec(
                null,
                null,
                null,
                List.of(
                    new CidrSetSpec("10.0.0.0/8", List.of("10.1.0.0/16")),
                    new CidrSetSpec("fd00::/8", null)),
                List.of(),
                null,
                null,
                null,
                null,
                null),
            new PeerRuleSpec(
                null,
                null,
                null,
                null,
                List.of("world", "host"),
                null,
                List.of(
                    new IcmpRuleSpec(
                        List.of(new IcmpFieldSpec("IPv6", "128"), new IcmpFieldSpec(null, "8")))),
                null,
                null,
                null)),
        null,
        null,
        null,
        null);
  }
}
