package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BpfFileSystem;
import agent.bindings.BpfLinks;
import agent.bindings.BpfObject;
import agent.bindings.Descriptors;
import agent.bindings.ObjectDescriptions;
import agent.bindings.TcFilter;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.TcMode;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.Workload;
import agent.types.Refusal;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What other programs hung on the same hooks stays there and runs. */
@KernelTest
class ForeignProgramsKernelTest {
  private static final int OUR_NUMBER = 0x6167;
  private ManagerTestNode node;
  private Workload workload;
  private BpfObject foreign;

  @BeforeEach
  void create() throws IOException {
    node = new ManagerTestNode();
    workload = node.workload(81);
    try (InputStream in = getClass().getClassLoader().getResourceAsStream("bpf/trivial.bpf.o")) {
      foreign = BpfObject.open(in.readAllBytes(), "foreign");
    }
    foreign.load();
  }

  @AfterEach
  void remove() throws IOException {
    foreign.close();
    node.close();
  }

  private int foreignProgram() {
    return foreign.programFd(tcProgram());
  }

  private String tcProgram() {
    return foreign.programNames().stream()
        .filter(name -> ObjectDescriptions.program(foreign.programFd(name)).type() == 3)
        .findFirst()
        .orElseThrow();
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldLeaveTcxLinksAndFiltersOfOthersAlone() throws Exception {
    final int ifindex = workload.veth().hostIfindex();
    final int link =
        node.namespace().run(() -> BpfLinks.createTcx(foreignProgram(), ifindex, true));
    assertTrue(link > 0);
    final TcFilter filter = new TcFilter(ifindex, false, 1, 1);
    assertEquals(0, node.namespace().run(() -> filter.attachOrReplace(foreignProgram())));
    for (final TcMode mode : List.of(TcMode.TCX, TcMode.CLSACT)) {
      try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
        ManagerTestNode.attach(
            manager, ManagerTestNode.spec(801, workload, 8001), ManagerTestNode.open());
        assertEquals(List.of(), await(manager.proxy().detachEndpoint(801)));
      }
      assertEquals(
          ifindex, ObjectDescriptions.link(link).ifindex(), "the other link is still attached");
      assertTrue(node.namespace().run(filter::programId) > 0);
    }
    Descriptors.close(link);
  }

  @Test
  void shouldRefuseToReplaceAFilterOfItsNumberThatIsNotItsOwn() throws Exception {
    final TcFilter taken =
        new TcFilter(workload.veth().hostIfindex(), true, OUR_NUMBER, OUR_NUMBER);
    assertEquals(0, node.namespace().run(() -> taken.attachOrReplace(foreignProgram())));
    final int program = node.namespace().run(taken::programId);
    try (DatapathManager manager = node.launch(node.context().tcMode(TcMode.CLSACT))) {
      final EndpointSpec spec = ManagerTestNode.spec(802, workload, 8002);
      final Refusal refusal =
          assertThrows(Refusal.class, () -> await(manager.proxy().attachEndpoint(spec)));
      assertTrue(refusal.getMessage().contains("another program"), refusal.getMessage());
      final TcFilter egress =
          new TcFilter(workload.veth().hostIfindex(), false, OUR_NUMBER, OUR_NUMBER);
      assertTrue(node.namespace().run(egress::programId) < 0, "neither program is attached");
    }
    assertEquals(program, node.namespace().run(taken::programId));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldTakeALinkWhereAFilterOfItsNumberIsAnothers() throws Exception {
    final TcFilter taken =
        new TcFilter(workload.veth().hostIfindex(), true, OUR_NUMBER, OUR_NUMBER);
    assertEquals(0, node.namespace().run(() -> taken.attachOrReplace(foreignProgram())));
    final int program = node.namespace().run(taken::programId);
    try (DatapathManager manager = node.launch(node.context().tcMode(TcMode.TCX))) {
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(802, workload, 8002), ManagerTestNode.open());
      assertTrue(Ping.isAnswered(workload.namespace(), ManagerTestNode.GATEWAY4, 2000));
      assertEquals(List.of(), await(manager.proxy().detachEndpoint(802)));
    }
    assertEquals(program, node.namespace().run(taken::programId));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldGiveUpLinksOfAnInterfaceThatIsGoneAndTakeTheNewOne() throws Exception {
    try (DatapathManager manager = node.launch(node.context())) {
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(803, workload, 8003), ManagerTestNode.open());
      workload.veth().delete();
      final Workload again = node.workload(82);
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(803, again, 8003), ManagerTestNode.open());
      assertTrue(Ping.isAnswered(again.namespace(), ManagerTestNode.GATEWAY4, 2000));
      final int link =
          BpfFileSystem.open(node.bpfRoot().resolve("agent/endpoints/803/from_endpoint"));
      assertEquals(again.veth().hostIfindex(), ObjectDescriptions.link(link).ifindex());
      Descriptors.close(link);
    }
  }
}
