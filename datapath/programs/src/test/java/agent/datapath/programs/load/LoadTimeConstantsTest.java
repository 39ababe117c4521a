package agent.datapath.programs.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LibBpf;
import agent.conntrack.EndpointShares;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.programs.compile.ProgramObjects;
import agent.datapath.spec.ConntrackLifetimes;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.Masquerading;
import agent.datapath.spec.SocketPorts;
import agent.maps.btf.Btf;
import agent.maps.btf.DataSectionLayout;
import agent.maps.btf.ElfObject;
import agent.maps.layout.NodeConfigFlyweight;
import agent.maps.layout.PrefilterConfigFlyweight;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** Reads what the options become in {@code .rodata}, where the programs read them. */
class LoadTimeConstantsTest {
  private static final IpAddress IPV4 = IpAddress.parse("10.77.0.9");
  private static final IpAddress IPV6 = IpAddress.parse("fd77::1:9");
  private final ProgramObjects objects =
      new ProgramObjects(Path.of("unused"), false, List.of(), false);

  @Test
  void shouldWriteEachLifetimeOfConntrack() {
    final DatapathContext context =
        context().conntrackLifetimes(new ConntrackLifetimes(61, 7201, 13, 47));
    assertEquals(List.of(61L, 7201L, 13L, 47L), lifetimesSec(context));
  }

  @Test
  void shouldWriteTheDefaultLifetimes() {
    assertEquals(List.of(60L, 21_600L, 10L, 60L), lifetimesSec(context()));
  }

  @Test
  void shouldWriteTheIdentitiesAndGatewaysOfEachFamily() {
    final DatapathContext context = context().worldIdentity4(9).worldIdentity6(10);
    assertEquals(9, node(context, NodeConfigFlyweight::worldIdentity4));
    assertEquals(10, node(context, NodeConfigFlyweight::worldIdentity6));
    assertEquals((int) IPV4.low(), node(context, NodeConfigFlyweight::gateway4));
    assertEquals(IPV6.high(), node(context, NodeConfigFlyweight::gateway6High));
    assertEquals(IPV6.low(), node(context, NodeConfigFlyweight::gateway6Low));
  }

  @Test
  void shouldWriteTheAddressesOfTheNodeOrTheGatewaysAgain() {
    final IpAddress node4 = IpAddress.parse("192.0.2.7");
    final IpAddress node6 = IpAddress.parse("2001:db8::7");
    final DatapathContext context = context().node4(node4).node6(node6);
    assertEquals((int) node4.low(), node(context, NodeConfigFlyweight::node4));
    assertEquals(node6.high(), node(context, NodeConfigFlyweight::node6High));
    assertEquals(node6.low(), node(context, NodeConfigFlyweight::node6Low));
    assertEquals((int) IPV4.low(), node(context(), NodeConfigFlyweight::node4));
    assertEquals(IPV6.high(), node(context(), NodeConfigFlyweight::node6High));
    assertEquals(IPV6.low(), node(context(), NodeConfigFlyweight::node6Low));
  }

  @Test
  void shouldWriteWhichFamiliesAreEnabled() {
    assertEquals(List.of(1L, 1L, 1L, 1L), families(context()));
    assertEquals(List.of(0L, 1L, 0L, 1L), families(context().enableIpv4(false)));
    assertEquals(List.of(1L, 0L, 1L, 0L), families(context().enableIpv6(false)));
  }

  @Test
  void shouldWriteTheSharesOfEndpoints() {
    final DatapathContext context =
        context()
            .conntrackTcpMax(500_000)
            .conntrackAnyMax(200_000)
            .flowSharePercent(40)
            .eventsPerSecond(7)
            .payloadBytes(65_535);
    final int cpus = LibBpf.possibleCpus();
    assertEquals(
        EndpointShares.capacity(500_000, cpus), node(context, NodeConfigFlyweight::tcpCapacity));
    assertEquals(
        EndpointShares.capacity(200_000, cpus), node(context, NodeConfigFlyweight::anyCapacity));
    assertEquals(40, node(context, NodeConfigFlyweight::flowSharePercent));
    assertEquals(7, node(context, NodeConfigFlyweight::eventsPerSecond));
    assertEquals(1024, node(context, NodeConfigFlyweight::fragmentsPerSecond));
    assertEquals(100, node(context(), NodeConfigFlyweight::flowSharePercent));
    assertEquals(10_000, node(context(), NodeConfigFlyweight::eventsPerSecond));
    assertEquals(65_535, node(context, NodeConfigFlyweight::payloadBytes));
    assertEquals(128, node(context(), NodeConfigFlyweight::payloadBytes));
  }

  @Test
  void shouldWriteTheRangeOfNat46() {
    final Prefix range = Prefix.parse("2001:db8:46:1:0:7::/96");
    final DatapathContext context =
        context().masquerading(new Masquerading(Map.of(), null, null, SocketPorts.NONE, range));
    assertEquals(1, node(context, NodeConfigFlyweight::enableNat46));
    assertEquals(0x2001_0db8_0046_0001L, node(context, NodeConfigFlyweight::nat46RangeHigh));
    assertEquals(0x0000_0007_0000_0000L, node(context, NodeConfigFlyweight::nat46RangeLow));
    assertEquals(0, node(context(), NodeConfigFlyweight::enableNat46));
  }

  @Test
  void shouldWriteThePortsOfSockets() {
    final SocketPorts ports = new SocketPorts(32_768, 28_232);
    final DatapathContext context =
        context().masquerading(new Masquerading(Map.of(), null, null, ports, null));
    assertEquals(32_768, node(context, NodeConfigFlyweight::socketPortFirst));
    assertEquals(28_232, node(context, NodeConfigFlyweight::socketPorts));
    assertEquals(0, node(context(), NodeConfigFlyweight::socketPorts));
  }

  @Test
  void shouldWriteOfHowManyPortsAnEndpointHasOne() {
    assertEquals(4, node(context(), NodeConfigFlyweight::portShares));
    assertEquals(
        List.of(1L, 2L, 4L, 100L), List.of(shares(100), shares(99), shares(30), shares(1)));
    assertThrows(IllegalArgumentException.class, () -> shares(0));
    assertThrows(IllegalArgumentException.class, () -> shares(101));
  }

  private long shares(int percent) {
    final Masquerading masquerading =
        new Masquerading(Map.of(), null, null, SocketPorts.NONE, null, percent);
    return node(context().masquerading(masquerading), NodeConfigFlyweight::portShares);
  }

  @Test
  void shouldWriteUntilWhenFlowsMayBeLost() {
    assertEquals(0, node(context(), NodeConfigFlyweight::flowsLostUntilNs));
    final NodeConstants carried = new NodeConstants(context().conclude());
    carried.flowsMayBeLost(7);
    assertEquals(
        TimeUnit.MINUTES.toNanos(5) + 7,
        written(
            ProgramFile.ENDPOINT,
            "node_config",
            carried::write,
            buffer -> new NodeConfigFlyweight().wrap(buffer, 0).flowsLostUntilNs()));
  }

  private static DatapathContext context() {
    return new DatapathContext()
        .bpfRoot(Path.of("/unused"))
        .libDirectory(Path.of("/unused"))
        .gateway4(IPV4)
        .gateway6(IPV6);
  }

  private List<Long> lifetimesSec(DatapathContext context) {
    return Stream.of(
            node(context, NodeConfigFlyweight::tcpSynLifetimeNs),
            node(context, NodeConfigFlyweight::tcpEstablishedLifetimeNs),
            node(context, NodeConfigFlyweight::tcpClosingLifetimeNs),
            node(context, NodeConfigFlyweight::anyLifetimeNs))
        .map(TimeUnit.NANOSECONDS::toSeconds)
        .toList();
  }

  /** Returns whether IPv4 and IPv6 are enabled, for the programs and for the prefilter. */
  private List<Long> families(DatapathContext context) {
    return List.of(
        node(context, NodeConfigFlyweight::enableIpv4),
        node(context, NodeConfigFlyweight::enableIpv6),
        prefilter(context, PrefilterConfigFlyweight::enableIpv4),
        prefilter(context, PrefilterConfigFlyweight::enableIpv6));
  }

  private long node(DatapathContext context, ToLongFunction<NodeConfigFlyweight> field) {
    return written(
        ProgramFile.HOST,
        "node_config",
        constants -> new NodeConstants(context.conclude()).write(constants),
        buffer -> field.applyAsLong(new NodeConfigFlyweight().wrap(buffer, 0)));
  }

  private long prefilter(DatapathContext context, ToLongFunction<PrefilterConfigFlyweight> field) {
    return written(
        ProgramFile.PREFILTER,
        "prefilter_config",
        constants -> new NodeConstants(context.conclude()).write(constants),
        buffer -> field.applyAsLong(new PrefilterConfigFlyweight().wrap(buffer, 0)));
  }

  /** Opens a shipped object, writes its constants, and reads one of them. */
  private long written(
      ProgramFile program,
      String variable,
      Consumer<Constants> writer,
      ToLongFunction<UnsafeBuffer> field) {
    LibBpf.ensureLoaded();
    final byte[] bytes = objects.read(program);
    final ElfObject elf = ElfObject.parse(bytes);
    final DataSectionLayout layout = DataSectionLayout.of(elf, Btf.of(elf), Constants.SECTION);
    try (BpfObject object = BpfObject.open(bytes, program.stem())) {
      writer.accept(new Constants(layout, object));
      final DataSectionLayout.Location location = layout.variable(variable);
      final long address = object.rodata().address() + location.offset();
      return field.applyAsLong(new UnsafeBuffer(address, location.size()));
    }
  }
}
