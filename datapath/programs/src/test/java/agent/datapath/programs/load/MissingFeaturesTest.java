package agent.datapath.programs.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.KernelFeatures;
import agent.conductor.HealthBoard.Reading;
import agent.testkit.OtherThread;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

class MissingFeaturesTest {
  private final List<OtherThread<List<String>>> others = new CopyOnWriteArrayList<>();
  private MissingFeatures shared;

  private static KernelFeatures kernel(boolean hasTcx) {
    return new KernelFeatures("6.1.0-test", hasTcx, true, true, true, true);
  }

  @Test
  void shouldNameWhatIsMissing() {
    final MissingFeatures missing = new MissingFeatures(kernel(false), name -> false);
    assertEquals(2, missing.list().size());
    assertEquals(
        Reading.ok(
            "kernel 6.1.0-test has no tcx (Linux 6.6): programs are attached via clsact; no"
                + " bpf_sock_destroy (Linux 6.5): a TCP connection to a removed backend"
                + " stays open until the backend closes it"),
        missing.read());
  }

  @Test
  void shouldNameNothingWhereAllIsThere() {
    final MissingFeatures none =
        new MissingFeatures(kernel(true), name -> name.equals("bpf_sock_destroy"));
    assertEquals(List.of(), none.list());
    assertEquals(Reading.ok("kernel 6.1.0-test has all that the agent uses"), none.read());
  }

  private boolean hasWhileAnotherReads(String name) {
    if (others.isEmpty()) {
      others.add(OtherThread.call(shared::list));
      assertTrue(others.getFirst().waits(), "it waits for what the kernel says of " + name);
    }
    return false;
  }

  @Test
  void shouldAskTheKernelOnceThoughTwoThreadsReadFirst() throws Exception {
    shared = new MissingFeatures(kernel(true), this::hasWhileAnotherReads);
    final List<String> first = shared.list();
    assertSame(first, others.getFirst().result());
  }
}
