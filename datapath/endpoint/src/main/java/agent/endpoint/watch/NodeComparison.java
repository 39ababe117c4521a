package agent.endpoint.watch;

import agent.conductor.ConductorAgent;
import agent.conductor.Work;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.watch.InterfaceWatch.PresentDevices;
import agent.endpoint.watch.NodeWatch.NodeParts;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.agrona.concurrent.NanoClock;

/**
 * One comparison of everything with the kernel, in steps of a bounded number of endpoints: the node
 * itself, then the interfaces, the routes and the parameters of the endpoints. A step that took
 * long has waited for the kernel's lock of the network configuration, which another program holds;
 * it is followed by a pause, so that requests do not wait for a whole comparison.
 */
final class NodeComparison implements Work {
  private static final int INTERFACES_PER_STEP = 64;
  private static final int ROUTES_PER_STEP = 256;
  private static final int PARAMETERS_PER_STEP = 16;

  private static final long PARAMETERS_STEP_NS = Duration.ofMillis(2).toNanos();
  private static final long SLOW_STEP_NS = Duration.ofMillis(10).toNanos();

  /** The time after a slow step as a multiple of what it took. */
  private static final int PAUSE_FACTOR = 4;

  private enum Phase {
    NODE,
    INTERFACES,
    ROUTES,
    PARAMETERS
  }

  private final ConductorAgent conductor;
  private final NanoClock clock;
  private final EndpointRegistry registry;
  private final NodeParts parts;
  private final Consumer<RuntimeException> onEnd;
  private Phase phase = Phase.NODE;
  private List<Endpoint> endpoints = List.of();
  private PresentDevices devices;
  private int cursor;
  private long resumeNs;

  /**
   * Creates a comparison that has not begun.
   *
   * @param conductor carries it out
   * @param clock measures its steps
   * @param onEnd receives the failure, or null
   */
  NodeComparison(
      ConductorAgent conductor,
      NanoClock clock,
      EndpointRegistry registry,
      NodeParts parts,
      Consumer<RuntimeException> onEnd) {
    this.conductor = conductor;
    this.clock = clock;
    resumeNs = clock.nanoTime();
    this.registry = registry;
    this.parts = parts;
    this.onEnd = onEnd;
  }

  @Override
  public Progress step() {
    final long beginNs = clock.nanoTime();
    if (beginNs - resumeNs < 0) {
      return Progress.WAITING;
    }
    final Progress progress = step(beginNs);
    final long endNs = clock.nanoTime();
    if (progress != Progress.DONE && endNs - beginNs > SLOW_STEP_NS) {
      final long pauseNs = PAUSE_FACTOR * (endNs - beginNs);
      resumeNs = endNs + pauseNs;
      conductor.schedule(pauseNs, conductor::wake);
    }
    return progress;
  }

  private Progress step(long beginNs) {
    switch (phase) {
      case NODE -> {
        parts.node().repair();
        endpoints = registry.all();
        devices = parts.interfaces().present();
        phase = Phase.INTERFACES;
      }
      case INTERFACES -> {
        for (final Endpoint endpoint : next(INTERFACES_PER_STEP, Phase.ROUTES)) {
          parts.interfaces().compare(endpoint, devices);
        }
      }
      case ROUTES -> parts.routes().repair(next(ROUTES_PER_STEP, Phase.PARAMETERS));
      case PARAMETERS -> {
        int count = 0;
        do {
          parts.node().repairParametersOf(next(1, null));
          count++;
        } while (phase != null
            && count < PARAMETERS_PER_STEP
            && clock.nanoTime() - beginNs < PARAMETERS_STEP_NS);
        if (phase == null) {
          onEnd.accept(null);
          return Progress.DONE;
        }
      }
    }
    return Progress.WORKED;
  }

  /** Returns the next endpoints that still exist, and moves to the next phase after the last. */
  private List<Endpoint> next(int count, Phase following) {
    final int end = Math.min(endpoints.size(), cursor + count);
    final List<Endpoint> some =
        endpoints.subList(cursor, end).stream().filter(registry::holds).toList();
    cursor = end;
    if (end == endpoints.size()) {
      cursor = 0;
      phase = following;
    }
    return some;
  }

  @Override
  public void failed(RuntimeException failure) {
    onEnd.accept(failure);
  }
}
