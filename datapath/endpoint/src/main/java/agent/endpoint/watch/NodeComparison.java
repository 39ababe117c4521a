package agent.endpoint.watch;

import agent.datapath.manager.thread.Work;
import agent.endpoint.state.Endpoint;
import agent.endpoint.state.EndpointRegistry;
import agent.endpoint.watch.InterfaceWatch.PresentDevices;
import agent.endpoint.watch.NodeWatch.NodeParts;
import java.util.List;
import java.util.function.Consumer;

/**
 * One comparison of everything with the kernel, in steps of a bounded number of endpoints: the node
 * itself, then the interfaces, the routes and the parameters of the endpoints.
 */
final class NodeComparison implements Work {
  private static final int INTERFACES_PER_STEP = 64;
  private static final int ROUTES_PER_STEP = 256;
  private static final int PARAMETERS_PER_STEP = 16;

  private enum Phase {
    NODE,
    INTERFACES,
    ROUTES,
    PARAMETERS
  }

  private final EndpointRegistry registry;
  private final NodeParts parts;
  private final Consumer<RuntimeException> onEnd;
  private Phase phase = Phase.NODE;
  private List<Endpoint> endpoints = List.of();
  private PresentDevices devices;
  private int cursor;

  /**
   * Creates a comparison that has not begun.
   *
   * @param onEnd receives the failure, or null
   */
  NodeComparison(EndpointRegistry registry, NodeParts parts, Consumer<RuntimeException> onEnd) {
    this.registry = registry;
    this.parts = parts;
    this.onEnd = onEnd;
  }

  @Override
  public Progress step() {
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
        parts.node().repairParametersOf(next(PARAMETERS_PER_STEP, null));
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
