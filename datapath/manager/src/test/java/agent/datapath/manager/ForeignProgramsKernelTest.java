package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.BpfProgram.ProgramDescription;
import agent.bindings.bpf.TcFilter;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.TcMode;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.Workload;
import agent.types.OperationException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The agent does not change programs that other software attached to the same hooks. */
@KernelTest
class ForeignProgramsKernelTest {
  private static final int AGENT_HANDLE = 0x6167;
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

  private BpfProgram foreignProgram() {
    return foreign.program("trivial_tc");
  }

  private void updateForeign(TcFilter filter) throws Exception {
    node.namespace()
        .run(
            () -> {
              filter.update(foreignProgram());
              return null;
            });
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldNotChangeTcxLinksAndFiltersOfOtherPrograms() throws Exception {
    final int ifindex = workload.veth().hostIfindex();
    final BpfLink link =
        node.namespace().run(() -> BpfLink.createTcx(foreignProgram(), ifindex, true));
    final TcFilter filter = new TcFilter(ifindex, false, 1, 1);
    updateForeign(filter);
    for (final TcMode mode : List.of(TcMode.TCX, TcMode.CLSACT)) {
      try (DatapathManager manager = node.launch(node.context().tcMode(mode))) {
        ManagerTestNode.attach(
            manager, ManagerTestNode.spec(801, workload, 8001), ManagerTestNode.allowAll());
        assertEquals(List.of(), ManagerTestNode.detach(manager, 801));
      }
      assertEquals(ifindex, link.info().ifindex(), "the other link is still attached");
      assertTrue(node.namespace().run(filter::info).isPresent());
    }
    link.close();
  }

  @Test
  void shouldRefuseToReplaceAForeignFilterWithItsHandle() throws Exception {
    final TcFilter taken =
        new TcFilter(workload.veth().hostIfindex(), true, AGENT_HANDLE, AGENT_HANDLE);
    updateForeign(taken);
    final Optional<ProgramDescription> program = node.namespace().run(taken::info);
    assertTrue(program.isPresent());
    try (DatapathManager manager = node.launch(node.context().tcMode(TcMode.CLSACT))) {
      final EndpointSpec spec = ManagerTestNode.spec(802, workload, 8002);
      final OperationException failure =
          assertThrows(OperationException.class, () -> await(manager.endpoints().attach(spec)));
      assertTrue(failure.getMessage().contains("another program"), failure.getMessage());
      final TcFilter egress =
          new TcFilter(workload.veth().hostIfindex(), false, AGENT_HANDLE, AGENT_HANDLE);
      assertTrue(node.namespace().run(egress::info).isEmpty(), "neither program is attached");
    }
    assertEquals(program, node.namespace().run(taken::info));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldAttachALinkBesideAForeignFilterWithItsHandle() throws Exception {
    final TcFilter taken =
        new TcFilter(workload.veth().hostIfindex(), true, AGENT_HANDLE, AGENT_HANDLE);
    updateForeign(taken);
    final Optional<ProgramDescription> program = node.namespace().run(taken::info);
    assertTrue(program.isPresent());
    try (DatapathManager manager = node.launch(node.context().tcMode(TcMode.TCX))) {
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(802, workload, 8002), ManagerTestNode.allowAll());
      assertTrue(Ping.isAnswered(workload.namespace(), ManagerTestNode.GATEWAY4, 2000));
      assertEquals(List.of(), ManagerTestNode.detach(manager, 802));
    }
    assertEquals(program, node.namespace().run(taken::info));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldReplaceTheLinksOfADeletedInterface() throws Exception {
    try (DatapathManager manager = node.launch(node.context())) {
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(803, workload, 8003), ManagerTestNode.allowAll());
      workload.veth().delete();
      final Workload again = node.workload(82);
      ManagerTestNode.attach(
          manager, ManagerTestNode.spec(803, again, 8003), ManagerTestNode.allowAll());
      assertTrue(Ping.isAnswered(again.namespace(), ManagerTestNode.GATEWAY4, 2000));
      final Path pin = node.bpfRoot().resolve("agent/endpoints/803/from_endpoint");
      try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
        assertEquals(again.veth().hostIfindex(), link.info().ifindex());
      }
    }
  }
}
