package agent.datapath.manager;

import agent.datapath.manager.spec.Context;
import agent.datapath.manager.spec.DatapathEvents;
import agent.datapath.manager.spec.DatapathMetrics;
import agent.datapath.manager.spec.DatapathProxy;
import agent.datapath.manager.spec.DatapathStatus;
import agent.datapath.manager.spec.Prefilter;
import agent.maps.kernel.MapRegistry;
import agent.maps.mirror.MapMirrors;

/** The datapath of this node, launched. */
public final class DatapathManager implements AutoCloseable {
  private final DatapathLaunch parts;
  private boolean isClosed;

  private DatapathManager(DatapathLaunch parts) {
    this.parts = parts;
  }

  /**
   * Checks what the kernel offers, takes over or creates maps and links, and starts the agents. It
   * returns when the datapath is ready. Interfaces are those of the calling thread's network
   * namespace.
   *
   * @throws agent.types.Refusal UNAVAILABLE with one clear line where the kernel, libbpf or a
   *     capability is missing, INVALID where an option names a device that is not there, FAILED or
   *     EXHAUSTED where a map, program or link cannot be made
   */
  public static DatapathManager launch(Context context) {
    return new DatapathManager(DatapathLaunch.run(context.conclude()));
  }

  /** Where commands go in. */
  public DatapathProxy proxy() {
    return parts.proxy();
  }

  /** The deny list; it answers DISABLED where the node has no prefilter device. */
  public Prefilter prefilter() {
    return parts.prefilter();
  }

  /** The maps that are open. */
  public MapRegistry maps() {
    return parts.registry();
  }

  /** What {@code GET /map} and {@code GET /map/{name}} read. */
  public MapMirrors mirrors() {
    return parts.mirrors();
  }

  /** Notifications. */
  public DatapathEvents events() {
    return parts.events();
  }

  /** Counters. */
  public DatapathMetrics metrics() {
    return parts.metrics();
  }

  /** How it is, now. */
  public DatapathStatus status() {
    return parts.status();
  }

  /** Stops the agents and leaves everything attached and pinned: packets do not notice. */
  @Override
  public synchronized void close() {
    if (!isClosed) {
      isClosed = true;
      parts.close();
    }
  }
}
