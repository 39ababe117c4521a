package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.HookProbe;
import agent.bindings.bpf.TcFilter;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.TcMode;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.Workload;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Links and filters of endpoints that another tool changes are repaired, and reported until then.
 */
@KernelTest
class HookGuardKernelTest {
  private static final int ENDPOINT = 901;
  private static final int AGENT_HANDLE = 0x6167;
  private static final long BY_HAND_MS = 300;

  private ManagerTestNode node;
  private Workload workload;
  private BpfObject foreign;
  private DatapathManager manager;
  private GuardWatch watch;

  @BeforeEach
  void create() throws IOException {
    node = new ManagerTestNode();
    workload = node.workload(91);
    try (InputStream in = getClass().getClassLoader().getResourceAsStream("bpf/trivial.bpf.o")) {
      foreign = BpfObject.open(in.readAllBytes(), "foreign");
    }
    foreign.load();
  }

  @AfterEach
  void remove() throws IOException {
    if (manager != null) {
      manager.close();
    }
    foreign.close();
    node.close();
  }

  /** Attaches the endpoint with an empty policy map, which denies all packets. */
  private void launch(TcMode mode) {
    manager = node.launch(node.context().tcMode(mode));
    watch = new GuardWatch(manager);
    ManagerTestNode.attach(manager, ManagerTestNode.spec(ENDPOINT, workload, 9001), List.of());
    assertFalse(isOpen(), "denied before");
  }

  /** Returns whether the workload and the node reach each other. */
  private boolean isOpen() {
    return Ping.isAnswered(workload.namespace(), ManagerTestNode.GATEWAY4, (int) BY_HAND_MS)
        || Ping.isAnswered(node.namespace(), workload.ipv4(), (int) BY_HAND_MS);
  }

  private Path pin(String program) {
    return node.bpfRoot().resolve("agent/endpoints/" + ENDPOINT).resolve(program);
  }

  private BpfLink pinned(String program) {
    return BpfLink.openPinned(pin(program)).orElseThrow();
  }

  private int linkId(String program) {
    try (BpfLink link = pinned(program)) {
      return link.info().id();
    }
  }

  private int firstTcxProgram(boolean isIngress) throws Exception {
    final HookProbe probe = new HookProbe();
    return node.namespace()
        .run(
            () ->
                probe.readTcx(workload.veth().hostIfindex(), isIngress) > 0
                    ? probe.tcxProgramId(0)
                    : 0);
  }

  private BpfProgram foreignProgram() {
    return foreign.program("trivial_tc");
  }

  private void assertClosedAndRight(String reason) {
    assertFalse(isOpen(), reason);
    watch.awaitRight();
    assertEquals(List.of(), manager.endpointFaults().of(ENDPOINT));
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @ValueSource(strings = {"from_endpoint", "to_endpoint"})
  @KernelTest(since = "6.6")
  void shouldPinALinkAgainAndFilterWhileItsPinIsGone(String program) throws IOException {
    launch(TcMode.TCX);
    final int id = linkId(program);
    Files.delete(pin(program));
    assertFalse(isOpen(), "the removal of a pin detaches nothing");
    watch.awaitRepair(Kind.LINK, 1);
    assertEquals(id, linkId(program), "the same link is pinned");
    assertClosedAndRight("pinned again");
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  @KernelTest(since = "6.6")
  void shouldPinLinksAgainWhoseFolderIsGone() throws IOException {
    launch(TcMode.TCX);
    Files.delete(pin("from_endpoint"));
    Files.delete(pin("to_endpoint"));
    Files.deleteIfExists(pin("to_endpoint").getParent());
    watch.awaitRepair(Kind.LINK, 2);
    assertTrue(linkId("from_endpoint") > 0 && linkId("to_endpoint") > 0);
    assertClosedAndRight("pinned again");
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  @KernelTest(since = "6.6")
  void shouldAttachTheDroppingProgramsOfAClosedEndpointAgain() {
    manager = node.launch(node.context());
    watch = new GuardWatch(manager);
    final EndpointSpec spec = ManagerTestNode.spec(ENDPOINT, workload, 9001);
    await(manager.endpoints().close(ENDPOINT, spec.ifindex(), spec.interfaceName()));
    for (int cycle = 0; cycle < 3; cycle++) { // the hooks are watched in the next duty cycle
      await(manager.endpoints().hostInterfaceOf(ENDPOINT));
    }
    for (final String program : List.of("from_endpoint", "to_endpoint")) {
      try (BpfLink link = pinned(program)) {
        link.detach();
      }
    }
    watch.awaitRepair(Kind.LINK, 2);
    assertClosedAndRight("attached again");
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(ENDPOINT, workload, 9001), ManagerTestNode.allowAll());
    GuardWatch.until( // the first echo may be lost with the failed search for the neighbour
        () -> Ping.isAnswered(workload.namespace(), ManagerTestNode.GATEWAY4, 1000),
        () -> "the endpoint's programs are attached");
    watch.awaitRight();
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @ValueSource(strings = {"from_endpoint", "to_endpoint"})
  @KernelTest(since = "6.6")
  void shouldAttachADetachedLinkAgain(String program) {
    launch(TcMode.TCX);
    final int id = linkId(program);
    try (BpfLink link = pinned(program)) {
      link.detach(); // as bpftool link detach does
    }
    final Fault fault = watch.awaitFault(ENDPOINT);
    assertEquals(Part.PROGRAMS, fault.part());
    assertTrue(fault.isRepairable());
    assertTrue(
        fault.message().contains(program) && fault.message().contains("detached"), fault.message());
    watch.awaitRepair(Kind.LINK, 1);
    assertNotEquals(id, linkId(program), "a new link is pinned in place of the detached one");
    assertClosedAndRight("attached again");
    assertEquals(List.of(), ManagerTestNode.detach(manager, ENDPOINT));
    assertTrue(isOpen(), "the new link is detached with the endpoint");
    assertFalse(Files.exists(pin(program)));
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  @KernelTest(since = "6.6")
  void shouldPutItsProgramBackIntoALinkThatAnotherToolUpdated() {
    launch(TcMode.TCX);
    for (final String program : List.of("from_endpoint", "to_endpoint")) {
      try (BpfLink link = pinned(program)) {
        link.update(foreignProgram());
      }
    }
    watch.awaitRepair(Kind.LINK, 2);
    assertClosedAndRight("the agent's programs are in the links");
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  @KernelTest(since = "6.6")
  void shouldAttachBeforeAForeignProgram() throws Exception {
    final int ifindex = workload.veth().hostIfindex();
    try (BpfLink before =
        node.namespace().run(() -> BpfLink.createTcx(foreignProgram(), ifindex, true))) {
      launch(TcMode.TCX);
      try (BpfLink link = pinned("from_endpoint")) {
        assertEquals(link.info().programId(), firstTcxProgram(true));
      }
      assertEquals(ifindex, before.info().ifindex(), "the foreign program is still attached");
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  @KernelTest(since = "6.6")
  void shouldReportAForeignProgramInFrontAndMoveBeforeIt() throws Exception {
    launch(TcMode.TCX);
    final int ifindex = workload.veth().hostIfindex();
    try (BpfLink first =
        node.namespace().run(() -> BpfLink.createTcxFirst(foreignProgram(), ifindex, true))) {
      final Fault fault = watch.awaitFault(ENDPOINT);
      final int foreignId = foreignProgram().info().id();
      assertTrue(
          fault.message().contains("program " + foreignId + " 'trivial_tc'"), fault.message());
      watch.awaitRepair(Kind.PROGRAM_ORDER, 1);
      try (BpfLink link = pinned("from_endpoint")) {
        assertEquals(link.info().programId(), firstTcxProgram(true));
      }
      assertEquals(ifindex, first.info().ifindex(), "the foreign program is still attached");
      assertClosedAndRight("the agent's program is first");
      final HookProbe probe = new HookProbe();
      assertEquals(2, node.namespace().run(() -> probe.readTcx(ifindex, true)), "no third program");
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  @KernelTest(since = "6.6")
  void shouldStopMovingAfterThreeTimesAndFailUntilTheForeignProgramIsGone() throws Exception {
    launch(TcMode.TCX);
    final int ifindex = workload.veth().hostIfindex();
    for (int i = 1; i <= 3; i++) {
      try (BpfLink first =
          node.namespace().run(() -> BpfLink.createTcxFirst(foreignProgram(), ifindex, false))) {
        watch.awaitRepair(Kind.PROGRAM_ORDER, i);
        assertEquals(ifindex, first.info().ifindex());
        // Closing is not enough: a child process of another test has a copy until it executes.
        first.detach();
      }
    }
    try (BpfLink first =
        node.namespace().run(() -> BpfLink.createTcxFirst(foreignProgram(), ifindex, false))) {
      watch.awaitLevel(Level.STOPPED);
      final Fault fault = manager.endpointFaults().of(ENDPOINT).getFirst();
      assertFalse(fault.isRepairable());
      assertTrue(fault.message().contains("moved 3 times"), fault.message());
      assertEquals(ifindex, first.info().ifindex());
      assertEquals(3, watch.repairs(Kind.PROGRAM_ORDER));
    }
    watch.awaitRight();
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @ValueSource(booleans = {true, false})
  void shouldAttachFiltersAgainAfterAQdiscOrFilterWasDeleted(boolean isQdisc) {
    launch(TcMode.CLSACT);
    final String device = workload.veth().hostInterface();
    if (isQdisc) {
      node.namespace().deleteClsact(device);
    } else {
      node.namespace().exec("tc", "filter", "del", "dev", device, "ingress");
      node.namespace().exec("tc", "filter", "del", "dev", device, "egress");
    }
    watch.awaitRepair(Kind.LINK, 2);
    assertClosedAndRight("attached again");
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldReportAForeignProgramInItsFilterAndKeepIt() throws Exception {
    launch(TcMode.CLSACT);
    final TcFilter filter =
        new TcFilter(workload.veth().hostIfindex(), true, AGENT_HANDLE, AGENT_HANDLE);
    node.namespace()
        .run(
            () -> {
              filter.update(foreignProgram());
              return null;
            });
    watch.awaitLevel(Level.STOPPED);
    assertEquals(
        foreignProgram().info().id(), node.namespace().run(filter::info).orElseThrow().id());
    node.namespace().deleteClsact(workload.veth().hostInterface());
    watch.awaitRepair(Kind.LINK, 2);
    assertClosedAndRight("attached again as soon as the foreign program is gone");
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  @KernelTest(since = "6.6")
  void shouldReportAForeignTcxProgramBeforeItsFilter() throws Exception {
    launch(TcMode.CLSACT);
    final int ifindex = workload.veth().hostIfindex();
    try (BpfLink first =
        node.namespace().run(() -> BpfLink.createTcx(foreignProgram(), ifindex, true))) {
      watch.awaitLevel(Level.STOPPED);
      final String message = manager.endpointFaults().of(ENDPOINT).getFirst().message();
      assertTrue(message.contains("'trivial_tc'"), message);
      assertTrue(message.contains("cannot be moved before it"), message);
      assertEquals(ifindex, first.info().ifindex());
    }
    watch.awaitRight();
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @ValueSource(booleans = {true, false})
  void shouldReportAForeignFilterOfASmallerPriority(boolean isIngress) throws Exception {
    launch(TcMode.CLSACT);
    final TcFilter before = new TcFilter(workload.veth().hostIfindex(), isIngress, 1, 7);
    node.namespace()
        .run(
            () -> {
              before.update(foreignProgram());
              return null;
            });
    watch.awaitLevel(Level.STOPPED);
    final String message = manager.endpointFaults().of(ENDPOINT).getFirst().message();
    assertTrue(message.contains("a filter of priority 7"), message);
    assertTrue(message.contains(isIngress ? "from_endpoint" : "to_endpoint"), message);
    assertTrue(node.namespace().run(before::info).isPresent(), "it is not removed");
    node.namespace()
        .run(
            () -> {
              before.detach();
              return null;
            });
    assertClosedAndRight("the foreign filter is gone");
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @MethodSource("agent.datapath.manager.ManagerTestNode#tcModes")
  void shouldFailWithoutAttachingToAStrangerOfTheSameIndex(TcMode mode) throws Exception {
    launch(mode);
    final int ifindex = workload.veth().hostIfindex();
    workload.veth().delete();
    watch.awaitLevel(Level.STOPPED);
    assertTrue(
        manager.endpointFaults().of(ENDPOINT).getFirst().message().contains("interface is gone"));
    node.namespace().exec("ip", "link", "add", "stranger", "index", "" + ifindex, "type", "bridge");
    watch.awaitMessage("belongs to another interface now");
    assertEquals(0, watch.repairs(Kind.LINK));
    assertEquals(
        "", node.namespace().exec("tc", "filter", "show", "dev", "stranger", "ingress").strip());
    assertEquals(0, firstTcxProgram(true) + firstTcxProgram(false));
    await(manager.endpoints().detach(ENDPOINT));
    watch.awaitRight();
  }
}
