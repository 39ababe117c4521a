package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.conductor.HealthBoard.Reading;
import agent.conductor.ModuleHealth.Level;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.ModuleHealthModel;
import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.FlowRing;
import agent.launcher.options.OptionValues;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The state of the agent is that of its worst module, in the moment of the question. */
@KernelTest
class DaemonStatusKernelTest {
  @TempDir private Path state;

  private final NetworkNamespace namespace = NetworkNamespace.create("status");
  private final TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount();
  private final DaemonStatus status =
      new DaemonStatus(
          new ConfigurationView(OptionValues.read(List.of(), Map.of()), Map.of(), "n1"), "1.2.3");
  private DatapathManager datapath;

  /** What two modules read; the test sets them. */
  private volatile Reading first = Reading.ok("good");

  private volatile Reading second = Reading.ok("good");

  @BeforeEach
  void launch() throws Exception {
    datapath =
        namespace.run(
            () ->
                DatapathManager.launch(
                    new DatapathContext()
                        .bpfRoot(bpf.path())
                        .libDirectory(state)
                        .gateway4(IpAddress.parse("10.77.0.1"))
                        .gateway6(IpAddress.parse("fd77::1"))
                        .conntrackTcpMax(1024)
                        .conntrackAnyMax(1024),
                    new FlowRing(0, Set.of(), System::nanoTime)));
    datapath.health().add("first", () -> first);
    datapath.health().add("second", () -> second);
  }

  @AfterEach
  void close() {
    datapath.close();
    bpf.close();
    namespace.close();
  }

  private StartedParts parts() {
    return new StartedParts(
        null, null, null, null, null, null, datapath, () -> 0, null, null, null, null, null, null,
        List.of());
  }

  @Test
  void shouldTellTheWorstModuleAndOnlyWhileItIsSo() throws Exception {
    assertEquals(
        new ComponentStatus("the agent is starting", "Warning"), status.status(true).agent());
    assertEquals(List.of(), status.health(false).modules());

    status.ready(parts());
    assertAgent("all " + datapath.health().read().size() + " modules are OK", "Ok");

    second = Reading.degraded("a link is detached");
    assertAgent("second: a link is detached", "Warning");
    first = Reading.degraded("a route is gone");
    assertAgent("first: a route is gone; second: a link is detached", "Warning");

    second = Reading.stopped("the disk is full");
    assertAgent("second: the disk is full; first: a route is gone", "Failure");

    second = Reading.ok("good");
    assertAgent("first: a route is gone", "Warning");
    first = Reading.ok("good");
    assertAgent("all " + datapath.health().read().size() + " modules are OK", "Ok");
  }

  @Test
  void shouldShowEveryLevelAndInBriefOnlyWhatIsNotOk() {
    status.ready(parts());
    assertEquals("OK good", shown("first", false));
    assertNull(shown("first", true));
    first = Reading.degraded("slow");
    second = Reading.stopped("gone");
    assertEquals("Degraded slow", shown("first", true));
    assertEquals("Stopped gone", shown("second", true));
    first = new Reading(Level.UNKNOWN, "not asked yet");
    assertEquals("Unknown not asked yet", shown("first", false));
  }

  /** On a busy machine a thread of the datapath may be late, which health shows for a moment. */
  private void assertAgent(String message, String state) throws InterruptedException {
    final ComponentStatus expected = new ComponentStatus(message, state);
    final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!expected.equals(status.status(true).agent()) && System.nanoTime() < deadlineNs) {
      Thread.sleep(10);
    }
    assertEquals(expected, status.status(true).agent());
  }

  /** Level and message of a module, or null where it is not shown. */
  private String shown(String module, boolean brief) {
    return status.health(brief).modules().stream()
        .filter(shown -> shown.moduleId().equals(module))
        .map(DaemonStatusKernelTest::text)
        .findFirst()
        .orElse(null);
  }

  private static String text(ModuleHealthModel.Module module) {
    return module.level() + " " + module.message();
  }
}
