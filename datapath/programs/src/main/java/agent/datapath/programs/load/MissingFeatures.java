package agent.datapath.programs.load;

import agent.bindings.bpf.KernelFeatures;
import agent.bindings.bpf.KernelFunctions;
import agent.conductor.HealthBoard;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * What the running kernel lacks of what the agent uses where it is there: the health module {@code
 * kernel}. The kernel is asked once, by the first reader. Thread-safe.
 */
public final class MissingFeatures implements HealthBoard.Probe {
  private final KernelFeatures kernel;
  private final Predicate<String> hasFunction;
  private List<String> missing;

  /** Creates a reader of the running kernel. */
  public MissingFeatures(KernelFeatures kernel) {
    this(kernel, KernelFunctions::has);
  }

  MissingFeatures(KernelFeatures kernel, Predicate<String> hasFunction) {
    this.kernel = kernel;
    this.hasFunction = hasFunction;
  }

  /**
   * Returns one text for each feature that is missing: its name, since when, and what is so now.
   */
  public synchronized List<String> list() {
    if (missing == null) {
      final List<String> found = new ArrayList<>();
      if (!kernel.tcx()) {
        found.add("tcx (Linux 6.6): programs are attached via clsact");
      }
      if (!hasFunction.test("bpf_sock_destroy")) {
        found.add(
            "bpf_sock_destroy (Linux 6.5): a TCP connection to a removed backend stays open"
                + " until the backend closes it");
      }
      missing = List.copyOf(found);
    }
    return missing;
  }

  @Override
  public HealthBoard.Reading read() {
    final List<String> absent = list();
    return HealthBoard.Reading.ok(
        absent.isEmpty()
            ? "kernel " + kernel.release() + " has all that the agent uses"
            : "kernel " + kernel.release() + " has no " + String.join("; no ", absent));
  }
}
