package agent.datapath.programs.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapSpec;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Work.Progress;
import agent.datapath.guard.KernelFaults;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import agent.testkit.KernelTest;
import agent.testkit.TemporaryBpfFileSystem;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Flows of a previous run that cannot be read are a fault, and are kept for the next start. */
@KernelTest
class UnreadableFlowsKernelTest {
  private static final int BPF_F_WRONLY = 1 << 4;
  private static final MapDefinition TABLE =
      MapDefinitions.of("endpoint").get(MapCatalog.CONNTRACK4_TCP).withMaxEntries(1024);

  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final Path pin = bpf.path().resolve("conntrack4_tcp_v2_resized");
  private final KernelFaults faults = new KernelFaults();
  private BpfMap table;

  @BeforeEach
  void pinTheFormerTable() {
    table = BpfMap.create(TABLE, "");
    assertEquals(0, BpfFileSystem.pin(table.fd(), pin));
  }

  @AfterEach
  void close() {
    table.close();
    bpf.close();
  }

  private static int create(int flags) {
    final MapSpec spec = TABLE.spec();
    final int fd =
        MapCalls.create(
            new MapSpec(
                spec.type(),
                spec.name(),
                spec.keySize(),
                spec.valueSize(),
                spec.maxEntries(),
                spec.flags() | flags,
                spec.inner()));
    assertTrue(fd >= 0);
    return fd;
  }

  private static void run(ConntrackCarryOver carryOver) {
    try {
      for (int i = 0; i < 10 && carryOver.step() != Progress.DONE; i++) {
        assertTrue(carryOver.isPending());
      }
    } catch (RuntimeException failure) {
      carryOver.failed(failure);
    }
  }

  private ConntrackCarryOver carryOver(int fd) {
    final Path generations = bpf.path().resolve("generations");
    final ConntrackCarryOver carryOver = new ConntrackCarryOver(generations, faults, path -> fd);
    carryOver.add(pin, table, false);
    return carryOver;
  }

  @Test
  void shouldFailAndKeepThePinOfATableThatCannotBeRead() {
    try (ConntrackCarryOver carryOver = carryOver(create(BPF_F_WRONLY))) {
      run(carryOver);
      assertFalse(carryOver.isPending());
    }
    assertEquals(Level.STOPPED, faults.read().level());
    assertEquals(
        "map conntrack4_tcp: entries of the previous run are missing; the next start will look"
            + " for them at "
            + pin
            + " again: map conntrack4_tcp: walk (all): EPERM",
        faults.read().message());
    assertTrue(Files.exists(pin), "the next start finds it");
  }

  @Test
  void shouldRemoveThePinOfATableThatWasRead() {
    try (ConntrackCarryOver carryOver = carryOver(create(0))) {
      run(carryOver);
    }
    assertEquals(Level.OK, faults.read().level());
    assertFalse(Files.exists(pin));
  }

  @Test
  void shouldFailWhereTheWorkEndsEarly() {
    try (ConntrackCarryOver carryOver = carryOver(create(0))) {
      carryOver.failed(new IllegalStateException("the conductor is closed"));
      assertEquals(Level.STOPPED, faults.read().level());
      assertTrue(faults.read().message().contains("closed"), faults.read().message());
    }
    assertTrue(Files.exists(pin));
  }
}
