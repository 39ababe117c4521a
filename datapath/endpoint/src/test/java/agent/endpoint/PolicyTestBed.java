package agent.endpoint;

import agent.bindings.BpfFileSystem;
import agent.bindings.Descriptors;
import agent.bindings.ObjectDescriptions;
import agent.bindings.ProgramTestRun;
import agent.datapath.manager.DatapathManager;
import agent.datapath.manager.spec.Context;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.PolicyMapDelta;
import agent.datapath.manager.spec.PolicyMapEntry;
import agent.identity.Identity;
import agent.identity.IdentityAllocator;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.identity.ReservedIdentity;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import agent.policy.Direction;
import agent.policy.EndpointPolicyChange;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.PolicyEntry;
import agent.policy.PolicyUpdate;
import agent.policy.model.Verdict;
import agent.policy.spec.RuleSpec;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Endpoints whose programs are in the kernel, under a policy engine: what the endpoint module does
 * with rules, without its state machine. Used from inside the node's namespace.
 */
final class PolicyTestBed implements AutoCloseable {
  static final String HOST4 = "10.77.0.254";
  static final String HOST6 = "fd77::fe";
  static final String REMOTE_NODE4 = "192.0.2.99";
  static final String REMOTE_NODE6 = "2001:db8:ffff::99";
  private static final int TC_ACT_SHOT = 2;

  /** One endpoint and its programs. */
  record Endpoint(
      int id, VethPair veth, IpAddress ipv4, IpAddress ipv6, int fromEndpoint, int toEndpoint) {
    IpAddress address(boolean isIpv4) {
      return isIpv4 ? ipv4 : ipv6;
    }
  }

  private final TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
  private final Path state;
  private final NetworkNamespace workloads;
  private final DatapathManager datapath;
  private final IdentityAllocator allocator = new LocalIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(new PolicyContext().identities(allocator).conclude());
  private final ProgramTestRun testRun = new ProgramTestRun(512);
  private final List<Endpoint> endpoints = new ArrayList<>();
  private final List<Identity> identities = new ArrayList<>();

  PolicyTestBed(NetworkNamespace node, int count) throws IOException {
    state = Files.createTempDirectory("agent-policy-");
    workloads = NetworkNamespace.create("policy-wl");
    datapath =
        DatapathManager.launch(
            new Context()
                .bpfRoot(bpffs.path())
                .stateDirectory(state)
                .conntrackTcpMax(65536)
                .conntrackAnyMax(65536)
                .gateway4(IpAddress.parse("10.77.0.253"))
                .gateway6(IpAddress.parse("fd77::fd")));
    await(
        datapath
            .proxy()
            .upsertIpcache(
                List.of(
                    host(HOST4), host(HOST6), remoteNode(REMOTE_NODE4), remoteNode(REMOTE_NODE6))));
    for (int id = 1; id <= count; id++) {
      endpoints.add(create(node, id));
    }
  }

  private static IpcacheEntry host(String address) {
    return new IpcacheEntry(Prefix.parse(address), ReservedIdentity.HOST.id(), 0, true);
  }

  private static IpcacheEntry remoteNode(String address) {
    return new IpcacheEntry(Prefix.parse(address), ReservedIdentity.REMOTE_NODE.id(), 0, false);
  }

  private Endpoint create(NetworkNamespace node, int id) {
    final VethPair veth = VethPair.create(node, "host" + id, workloads, "wl" + id);
    final IpAddress ipv4 = IpAddress.parse("10.77.0." + id);
    final IpAddress ipv6 = IpAddress.parse("fd77::" + id);
    final Identity init = allocator.acquire(LabelSet.EMPTY);
    identities.add(init);
    carryOut(engine.endpointSet(id, init));
    await(
        datapath
            .proxy()
            .attachEndpoint(
                new EndpointSpec(
                    id,
                    veth.hostIfindex(),
                    veth.hostInterface(),
                    ipv4,
                    ipv6,
                    MacAddress.parse(veth.workloadMac()),
                    MacAddress.parse(veth.hostMac()),
                    init.id(),
                    EndpointOption.CONNTRACK.number()
                        | EndpointOption.SOURCE_IP_VERIFICATION.number(),
                    0)));
    publish(id, ipv4, ipv6, init);
    return new Endpoint(
        id, veth, ipv4, ipv6, program(id, "from_endpoint"), program(id, "to_endpoint"));
  }

  private int program(int endpointId, String name) {
    final Path pin = bpffs.path().resolve("agent/endpoints/" + endpointId + "/" + name);
    final int link = BpfFileSystem.open(pin);
    if (link < 0) {
      throw new IllegalStateException(pin + ": " + link);
    }
    try {
      return ObjectDescriptions.openProgram(ObjectDescriptions.link(link).programId());
    } finally {
      Descriptors.close(link);
    }
  }

  private void publish(int id, IpAddress ipv4, IpAddress ipv6, Identity identity) {
    await(
        datapath
            .proxy()
            .upsertIpcache(
                List.of(
                    new IpcacheEntry(Prefix.of(ipv4), identity.id(), id, false),
                    new IpcacheEntry(Prefix.of(ipv6), identity.id(), id, false))));
  }

  List<Endpoint> endpoints() {
    return endpoints;
  }

  LabelSet labelsOf(Endpoint endpoint) {
    final Identity identity = identities.get(endpoint.id() - 1);
    return identity.isReserved() ? LabelSet.EMPTY : identity.labels();
  }

  /** The endpoint has these labels from now on. */
  void relabel(Endpoint endpoint, LabelSet labels) {
    final Identity before = identities.get(endpoint.id() - 1);
    final Identity after = allocator.acquire(labels);
    identities.set(endpoint.id() - 1, after);
    carryOut(engine.endpointSet(endpoint.id(), after));
    await(datapath.proxy().setIdentity(endpoint.id(), after.id()));
    publish(endpoint.id(), endpoint.ipv4(), endpoint.ipv6(), after);
    allocator.release(before.id());
    carryOut(engine.refresh());
  }

  /** These rules and no others. */
  void replaceRules(List<RuleSpec> rules) {
    carryOut(engine.delete(List.of()));
    carryOut(engine.add(rules, false));
  }

  private void carryOut(PolicyUpdate update) {
    if (!update.failures().isEmpty()) {
      throw new IllegalStateException(update.failures().toString());
    }
    update.endpoints().forEach(this::apply);
    await(
        datapath
            .proxy()
            .upsertIpcache(
                update.cidrsAdded().stream()
                    .map(cidr -> new IpcacheEntry(prefix(cidr), cidr.id(), 0, false))
                    .toList()));
    await(
        datapath
            .proxy()
            .removeIpcache(update.cidrsRemoved().stream().map(PolicyTestBed::prefix).toList()));
    update.cleanups().forEach(this::apply);
  }

  private static Prefix prefix(Identity cidr) {
    return cidr.cidr().orElseThrow();
  }

  private void apply(EndpointPolicyChange change) {
    if (change.endpointId() > endpoints.size()) {
      await(
          datapath
              .proxy()
              .synchronizePolicy(change.endpointId(), entries(change.policy().entries())));
      return;
    }
    await(
        datapath
            .proxy()
            .applyPolicy(
                change.endpointId(),
                new PolicyMapDelta(
                    entries(change.diff().upserts()), entries(change.diff().deletes()))));
  }

  private static List<PolicyMapEntry> entries(Collection<PolicyEntry> entries) {
    return entries.stream()
        .map(
            entry ->
                new PolicyMapEntry(
                    entry.identity(),
                    entry.direction() == Direction.INGRESS
                        ? PolicyDirection.INGRESS
                        : PolicyDirection.EGRESS,
                    entry.protocol(),
                    entry.port(),
                    entry.prefixLength(),
                    entry.deny() ? PolicyFlag.DENY.number() : 0,
                    0))
        .toList();
  }

  /** What the kernel does with a packet that the endpoint sends or is sent. */
  Verdict verdict(Endpoint endpoint, boolean sends, byte[] frame) {
    final int direction = (sends ? MetricsDirection.EGRESS : MetricsDirection.INGRESS).number();
    final long[] before = counters(direction);
    testRun.input(frame);
    final int error =
        testRun.run(
            sends ? endpoint.fromEndpoint() : endpoint.toEndpoint(),
            frame.length,
            endpoint.veth().hostIfindex(),
            1);
    if (error != 0) {
      throw new IllegalStateException("BPF_PROG_TEST_RUN: " + error);
    }
    final long[] after = counters(direction);
    for (int reason = 0; reason < after.length; reason++) {
      if (after[reason] != before[reason]) {
        return verdictOf(DropReason.values()[reason], testRun.returnValue());
      }
    }
    throw new IllegalStateException("nothing was counted, program: " + testRun.returnValue());
  }

  private long[] counters(int direction) {
    final long[] counters = new long[DropReason.values().length];
    datapath
        .metrics()
        .forEach(
            (counted, reason, packets, bytes) -> {
              if (counted == direction) {
                counters[reason] = packets;
              }
            });
    return counters;
  }

  /** The counter and what the program returned must say the same. */
  private static Verdict verdictOf(DropReason reason, int returned) {
    if ((returned == TC_ACT_SHOT) != (reason != DropReason.NONE)) {
      throw new IllegalStateException("counted " + reason + ", program: " + returned);
    }
    return switch (reason) {
      case NONE -> Verdict.ALLOWED;
      case POLICY_DENIED -> Verdict.NOT_ALLOWED;
      case POLICY_DENY_RULE -> Verdict.DENIED;
      default -> throw new IllegalStateException("dropped for " + reason);
    };
  }

  static <T> T await(CompletableFuture<T> future) {
    try {
      return future.get(30, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() throws IOException {
    for (final Endpoint endpoint : endpoints) {
      Descriptors.close(endpoint.fromEndpoint());
      Descriptors.close(endpoint.toEndpoint());
      await(datapath.proxy().detachEndpoint(endpoint.id()));
    }
    testRun.close();
    datapath.close();
    bpffs.close();
    workloads.close();
    try (Stream<Path> files = Files.walk(state)) {
      for (final Path path : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
